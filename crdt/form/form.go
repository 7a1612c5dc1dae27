package form

import (
	"encoding"
	"reflect"
)

// Form is how the elements of a type are written.
type Form byte

// The forms.
const (
	CBOR   Form = iota // core-deterministic CBOR: all types that have none of the others
	Own                // what its MarshalBinary returns: a type with a codec of its own
	String             // the bytes of a string
	Int                // eight bytes that sort like the numbers: integers of any size
	Uint               // the same without a sign
	Bool               // one byte
	Bytes              // the bytes of an array of bytes
)

// Of is the form of a type. One has a codec of its own if it implements encoding.BinaryMarshaler and its pointer
// encoding.BinaryUnmarshaler.
func Of[E comparable]() Form {
	if _, ok := any((*E)(nil)).(encoding.BinaryUnmarshaler); ok {
		if _, ok := any((*E)(nil)).(encoding.BinaryMarshaler); ok {
			return Own
		}
	}
	t := reflect.TypeFor[E]()
	switch k := t.Kind(); {
	case k == reflect.String:
		return String
	case k >= reflect.Int && k <= reflect.Int64:
		return Int
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return Uint
	case k == reflect.Bool:
		return Bool
	case k == reflect.Array && t.Elem().Kind() == reflect.Uint8:
		return Bytes
	}
	return CBOR
}

// Width is how many bytes every element of a type of this form takes, 0 when that differs.
func (f Form) Width(t reflect.Type) int {
	switch f {
	case Int, Uint:
		return 8
	case Bool:
		return 1
	case Bytes:
		return t.Len()
	}
	return 0
}
