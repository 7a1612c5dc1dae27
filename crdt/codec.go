package crdt

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
)

// Values become payloads: strings and byte slices as they are, all else as core-deterministic CBOR. How elements become paths: element.go.

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

// AppendValue appends the payload form of v. A value that does not decode again (text that is not UTF-8, a big number, a type that only encodes)
// is ErrElement: accepted, it would make its whole key unreadable for everyone. Fields that are not exported are left out.
func AppendValue[V any](dst []byte, v V) ([]byte, error) {
	switch any((*V)(nil)).(type) { // the static type, by which DecodeValue goes too: an interface that holds a string is CBOR
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

// DecodeValue is the inverse of AppendValue; what it returns shares nothing with s that could be written to.
func DecodeValue[V any](s string) (v V, err error) {
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
