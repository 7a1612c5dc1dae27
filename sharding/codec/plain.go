package codec

import "github.com/coterie-go/coterie/crdt/cbor"

// Replies are often a number or a string. These are encoded and decoded here as the CBOR library does
// it, without its reflection.

// appendPlain appends a value of a predeclared type; false: it is of another one.
func appendPlain(dst []byte, v any) ([]byte, bool) {
	switch x := v.(type) {
	case bool:
		return cbor.AppendBool(dst, x), true
	case string:
		return cbor.AppendText(dst, x), true
	case int:
		return cbor.AppendInt(dst, int64(x)), true
	case int32:
		return cbor.AppendInt(dst, int64(x)), true
	case int64:
		return cbor.AppendInt(dst, x), true
	case uint:
		return cbor.AppendUint(dst, uint64(x)), true
	case uint32:
		return cbor.AppendUint(dst, uint64(x)), true
	case uint64:
		return cbor.AppendUint(dst, x), true
	}
	return dst, false
}

// decodePlain decodes what appendPlain has written into what v points to; false: the bytes are something
// else, perhaps of the same meaning, or the type is another one. Then v is as it was.
func decodePlain(b []byte, v any) bool {
	r := cbor.NewReader(b)
	switch p := v.(type) {
	case *bool:
		return store(r, p, r.Bool())
	case *string:
		return store(r, p, r.Text(cbor.Any))
	case *int:
		n := r.Int()
		return int64(int(n)) == n && store(r, p, int(n))
	case *int32:
		n := r.Int()
		return int64(int32(n)) == n && store(r, p, int32(n))
	case *int64:
		return store(r, p, r.Int())
	case *uint:
		n := r.Uint()
		return uint64(uint(n)) == n && store(r, p, uint(n))
	case *uint32:
		n := r.Uint()
		return uint64(uint32(n)) == n && store(r, p, uint32(n))
	case *uint64:
		return store(r, p, r.Uint())
	}
	return false
}

// store stores what was read, if it was all there is and there is no fault.
func store[T any](r *cbor.Reader, to *T, v T) bool {
	if r.End() != nil {
		return false
	}
	*to = v
	return true
}
