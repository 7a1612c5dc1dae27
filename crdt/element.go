package crdt

import (
	"encoding"
	"encoding/binary"
	"fmt"
	"iter"
	"reflect"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/form"
)

// Elements of sets and keys of maps become parts of paths, in the form that package form gives their type. Two elements
// are one when their bytes are: of numbers that are equal and differ in their encoding, 0.0 and -0.0, a set can hold
// both.

const signBit = 1 << 63

// AppendElement appends the path form of e. An element that would not come back equal (a pointer,
// an unexported field, a NaN) is ErrElement.
func AppendElement[E comparable](dst []byte, e E) ([]byte, error) {
	if s, ok := any(e).(string); ok {
		return append(dst, s...), nil
	}
	switch form.Of[E]() {
	case form.Own:
		return appendOwn(dst, e)
	case form.String:
		return append(dst, reflect.ValueOf(e).String()...), nil
	case form.Int:
		return binary.BigEndian.AppendUint64(dst, uint64(reflect.ValueOf(e).Int())^signBit), nil
	case form.Uint:
		return binary.BigEndian.AppendUint64(dst, reflect.ValueOf(e).Uint()), nil
	case form.Bool:
		if reflect.ValueOf(e).Bool() {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case form.Bytes:
		return appendArray(dst, e), nil
	}
	b, err := cbor.Values.Append(nil, e)
	return appendChecked(dst, b, e, err)
}

func appendArray[E comparable](dst []byte, e E) []byte {
	return append(dst, reflect.ValueOf(&e).Elem().Bytes()...)
}

func appendOwn[E comparable](dst []byte, e E) ([]byte, error) {
	b, err := any(&e).(encoding.BinaryMarshaler).MarshalBinary()
	return appendChecked(dst, b, e, err)
}

// appendChecked appends b, the encoding of e, if it decodes to e: else e could not be found again.
func appendChecked[E comparable](dst, b []byte, e E, err error) ([]byte, error) {
	if err != nil {
		return dst, fmt.Errorf("%w: %T: %w", ErrElement, e, err)
	}
	if back, err := DecodeElement[E](string(b)); err != nil || back != e {
		return dst, fmt.Errorf("%w: %T does not survive encoding", ErrElement, e)
	}
	return append(dst, b...), nil
}

// DecodeElement is the inverse of AppendElement. What is no E is ErrDecode.
func DecodeElement[E comparable](s string) (e E, err error) {
	if same, ok := any(s).(E); ok { // E is string
		return same, nil
	}
	return decodeReflected[E](s)
}

func decodeReflected[E comparable](s string) (e E, err error) {
	v := reflect.ValueOf(&e).Elem()
	f := form.Of[E]()
	if w := f.Width(v.Type()); w > 0 && len(s) != w {
		return e, fmt.Errorf("%w: %q (%d bytes) is no %T (%d)", ErrDecode, s, len(s), e, w)
	}
	ok := true
	switch f {
	case form.Own:
		err = unmarshalOwn(any(&e).(encoding.BinaryUnmarshaler), s)
	case form.String:
		v.SetString(s)
	case form.Int:
		n := int64(binary.BigEndian.Uint64([]byte(s)) ^ signBit)
		if ok = !v.OverflowInt(n); ok {
			v.SetInt(n)
		}
	case form.Uint:
		n := binary.BigEndian.Uint64([]byte(s))
		if ok = !v.OverflowUint(n); ok {
			v.SetUint(n)
		}
	case form.Bool:
		ok = s[0] <= 1
		v.SetBool(s[0] == 1)
	case form.Bytes:
		ok = len(s) == v.Len()
		reflect.Copy(v, reflect.ValueOf(s))
	default:
		err = decodeByUser(cbor.Values.Decode, s, &e)
	}
	if err == nil && ok {
		return e, nil
	}
	var zero E
	if err == nil {
		return zero, fmt.Errorf("%w: %q (%d bytes) is out of the range of %T", ErrDecode, s, len(s), e)
	}
	return zero, fmt.Errorf("%w: %q (%d bytes) is no %T: %w", ErrDecode, s, len(s), e, err)
}

func unmarshalOwn(e encoding.BinaryUnmarshaler, s string) (err error) {
	defer guardDecoder(&err)
	return e.UnmarshalBinary([]byte(s))
}

// ElementPath returns the path of e in a type of the given kind: kind ‖ element.
func ElementPath[E comparable](k Kind, e E) (string, error) {
	if s, ok := any(e).(string); ok {
		return k.Path() + s, nil
	}
	var buf [64]byte
	b, err := AppendElement(append(buf[:0], byte(k)), e)
	return string(b), err
}

// CheckElements finds a type clash among paths that ElementPath made: another kind, or a first
// element that is no E. It costs a descent, not a walk.
func CheckElements[E comparable](r Reader, k Kind) error {
	if err := r.CheckKind(k); err != nil {
		return err
	}
	it := r.First()
	if it == nil {
		return nil
	}
	if _, err := DecodeElement[E](r.Rel(it)[1:]); err != nil {
		return asTypeClash(r, err)
	}
	return nil
}

// elementsOf yields the elements of which something lives at the path that ElementPath gives them.
func elementsOf[E comparable](r Reader, k Kind) iter.Seq[E] {
	return func(yield func(E) bool) {
		prev := ""
		for it := range r.Items(k.Path()) {
			if it.Path == prev {
				continue // a sibling: added concurrently
			}
			prev = it.Path
			if e, err := DecodeElement[E](r.Rel(it)[1:]); err == nil && !yield(e) {
				return
			}
		}
	}
}
