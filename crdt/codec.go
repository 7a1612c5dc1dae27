package crdt

import (
	"bytes"
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// Values become payloads: strings and byte slices as they are, all else as core-deterministic CBOR.
// How elements become paths: element.go.

// AppendValue appends the payload form of v. A value that does not decode again (text that is not
// UTF-8, a big number, a type that only encodes) is ErrElement: accepted, it would make its whole
// key unreadable for every node. So is a struct that holds something and has no exported field: it
// would read back as zero. Other fields that are not exported are left out.
//
// Structs match by the names of their fields, so that programs of two versions read each other: a field that only the
// writer has is left out, one that only the reader has is zero. So a struct reads as any other struct, and a program
// that reads a value of a newer one, changes it and puts it drops the fields that it does not know. While both run,
// put under another key what the older one must not change. Whole refuses such a Put by itself.
func AppendValue[V any](dst []byte, v V) ([]byte, error) {
	// the static type, by which DecodeValue goes too: an interface that holds a string is CBOR
	switch any((*V)(nil)).(type) {
	case *string:
		return append(dst, any(v).(string)...), nil
	case *[]byte:
		return append(dst, any(v).([]byte)...), nil
	}
	out, err := cbor.Values.Append(dst, v)
	b := out[len(dst):]
	if err == nil {
		err = cbor.Values.Decode(b, new(V))
	}
	if err != nil {
		return dst, fmt.Errorf("%w: %T: %w", ErrElement, v, err)
	}
	// only such a struct may have lost something
	if bytes.IndexByte(b, emptyMap) >= 0 || bytes.IndexByte(b, emptyArray) >= 0 {
		if t := cbor.Unstored(reflect.ValueOf(v)); t != nil {
			return dst, fmt.Errorf("%w: %T: no field of %v is exported, so that it would read back as zero; export "+
				"its fields, or give it a MarshalCBOR and an UnmarshalCBOR",
				ErrElement, v, t)
		}
	}
	return out, nil
}

// What a struct of which nothing is stored encodes as.
const (
	emptyMap   = 0xa0
	emptyArray = 0x80
)

// DecodeValue is the inverse of AppendValue; what it returns shares nothing with s that could be
// written to. What is no V is ErrDecode.
func DecodeValue[V any](s string) (v V, err error) {
	switch p := any(&v).(type) {
	case *string:
		*p = s
		return v, nil
	case *[]byte:
		*p = []byte(s)
		return v, nil
	}
	if err := decodeByUser(cbor.Values.Decode, s, &v); err != nil {
		var zero V
		return zero, fmt.Errorf("%w: %T: %w", ErrDecode, v, err)
	}
	return v, nil
}

// decodeByUser decodes s into what v points to. V may have a decoder of its own, and s may be a peer's: what that
// decoder panics with is an error, or one write would end every process that reads the key.
func decodeByUser(decode func([]byte, any) error, s string, v any) (err error) {
	defer guardDecoder(&err)
	return decode([]byte(s), v)
}

// guardDecoder makes an error of a panic. It is deferred around calls of a user's decoder.
func guardDecoder(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("its decoder panicked: %v", p)
	}
}
