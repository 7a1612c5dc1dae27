package crdt

import (
	"encoding/binary"
	"fmt"
	"reflect"

	"github.com/fxamacker/cbor/v2"
)

// Elements and map keys become paths: strings as their bytes, integers as eight bytes that sort like the numbers, other comparable types as
// core-deterministic CBOR. Values become payloads: strings and byte slices as they are, all else as core-deterministic CBOR.

var (
	encMode = must(func() (cbor.EncMode, error) {
		o := cbor.CoreDetEncOptions()
		o.NilContainers = cbor.NilContainerAsEmpty
		o.Time = cbor.TimeRFC3339Nano // the default drops what is below a second, silently
		return o.EncMode()
	}())
	decMode = must(cbor.DecOptions{
		MaxNestedLevels:  16,
		MaxArrayElements: PayloadMax,
		MaxMapPairs:      PayloadMax / 2,
		IndefLength:      cbor.IndefLengthForbidden,
		TagsMd:           cbor.TagsForbidden,
		DupMapKey:        cbor.DupMapKeyEnforcedAPF,
	}.DecMode())
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

const signBit = 1 << 63

// appendElement appends the path form of e.
func appendElement[E comparable](dst []byte, e E) ([]byte, error) {
	if s, ok := any(e).(string); ok {
		return append(dst, s...), nil
	}
	switch k := reflect.TypeFor[E]().Kind(); {
	case k == reflect.String:
		return append(dst, reflect.ValueOf(e).String()...), nil
	case k >= reflect.Int && k <= reflect.Int64:
		return binary.BigEndian.AppendUint64(dst, uint64(reflect.ValueOf(e).Int())^signBit), nil
	case k >= reflect.Uint && k <= reflect.Uintptr:
		return binary.BigEndian.AppendUint64(dst, reflect.ValueOf(e).Uint()), nil
	}
	b, err := encMode.Marshal(e)
	if err != nil {
		return dst, fmt.Errorf("%w: %T: %w", ErrElement, e, err)
	}
	// An element that does not come back equal (a pointer, an unexported field, a NaN) could not be found again.
	if back, err := decodeElement[E](string(b)); err != nil || back != e {
		return dst, fmt.Errorf("%w: %T does not survive encoding", ErrElement, e)
	}
	return append(dst, b...), nil
}

// decodeElement is the inverse of appendElement.
func decodeElement[E comparable](s string) (e E, err error) {
	if same, ok := any(s).(E); ok { // E is string
		return same, nil
	}
	return decodeReflected[E](s)
}

func decodeReflected[E comparable](s string) (e E, err error) {
	switch k := reflect.TypeFor[E]().Kind(); {
	case k == reflect.String:
		reflect.ValueOf(&e).Elem().SetString(s)
		return e, nil
	case k >= reflect.Int && k <= reflect.Int64:
		n, err := decodeWord(s)
		v := reflect.ValueOf(&e).Elem()
		if err == nil && v.OverflowInt(int64(n^signBit)) {
			err = fmt.Errorf("%w: %T out of range", ErrElement, e)
		}
		if err == nil {
			v.SetInt(int64(n ^ signBit))
		}
		return e, err
	case k >= reflect.Uint && k <= reflect.Uintptr:
		n, err := decodeWord(s)
		v := reflect.ValueOf(&e).Elem()
		if err == nil && v.OverflowUint(n) {
			err = fmt.Errorf("%w: %T out of range", ErrElement, e)
		}
		if err == nil {
			v.SetUint(n)
		}
		return e, err
	}
	if err := decMode.Unmarshal([]byte(s), &e); err != nil {
		var zero E
		return zero, fmt.Errorf("%w: %T: %w", ErrElement, e, err)
	}
	return e, nil
}

func decodeWord(s string) (uint64, error) {
	if len(s) != 8 {
		return 0, fmt.Errorf("%w: integer of %d bytes", ErrElement, len(s))
	}
	return binary.BigEndian.Uint64([]byte(s)), nil
}

// appendValue appends the payload form of v. A value that does not decode again (text that is not UTF-8, a big number, a type that only encodes)
// is ErrElement: accepted, it would make its whole key unreadable for everyone. Fields that are not exported are left out.
func appendValue[V any](dst []byte, v V) ([]byte, error) {
	switch any((*V)(nil)).(type) { // the static type, by which decodeValue goes too: an interface that holds a string is CBOR
	case *string:
		return append(dst, any(v).(string)...), nil
	case *[]byte:
		return append(dst, any(v).([]byte)...), nil
	}
	b, err := encMode.Marshal(v)
	if err == nil {
		err = decMode.Unmarshal(b, new(V))
	}
	if err != nil {
		return dst, fmt.Errorf("%w: %T: %w", ErrElement, v, err)
	}
	return append(dst, b...), nil
}

// decodeValue is the inverse of appendValue; what it returns shares nothing with s that could be written to.
func decodeValue[V any](s string) (v V, err error) {
	switch p := any(&v).(type) {
	case *string:
		*p = s
		return v, nil
	case *[]byte:
		*p = []byte(s)
		return v, nil
	}
	if err := decMode.Unmarshal([]byte(s), &v); err != nil {
		var zero V
		return zero, fmt.Errorf("%w: %T: %w", ErrElement, v, err)
	}
	return v, nil
}

// elementPath returns the path of e in a type of the given kind.
func elementPath[E comparable](k Kind, e E) (string, error) {
	var buf [64]byte
	b, err := appendElement(append(buf[:0], byte(k)), e)
	return string(b), err
}
