package codec

import (
	"bytes"
	"reflect"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"pgregory.net/rapid"
)

// agree checks a value that is encoded, and bytes that are decoded into one of its type.
func agree(t *rapid.T, v any, other []byte) {
	want, err := cbor.Messages.Append(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := appendPlain(nil, v); !ok || !bytes.Equal(got, want) {
		t.Fatalf("%T %v\nhere    %x\nlibrary %x", v, v, got, want)
	}
	for _, b := range [][]byte{want, other} {
		here, slow := reflect.New(reflect.TypeOf(v)), reflect.New(reflect.TypeOf(v))
		ok := decodePlain(b, here.Interface())
		err := cbor.Messages.Decode(b, slow.Interface())
		switch {
		case ok && err != nil:
			t.Fatalf("%x into %T is read, and the library says %v", b, v, err)
		case ok && !reflect.DeepEqual(here.Interface(), slow.Interface()):
			t.Fatalf("%x into %T is %v, to the library %v", b, v, here.Elem(), slow.Elem())
		case !ok && !here.Elem().IsZero():
			t.Fatalf("%x into %T is refused, and leaves %v", b, v, here.Elem())
		case !ok && err == nil && bytes.Equal(b, want):
			t.Fatalf("%x into %T is not read", b, v)
		}
	}
}

// Values of predeclared types have the bytes of the library, and only what it reads is read.
func TestPlainValuesAgreeWithTheLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		other := rapid.OneOf(rapid.SliceOfN(rapid.Byte(), 0, 12), rapid.Custom(func(t *rapid.T) []byte {
			return cbor.AppendInt(nil, rapid.Int64().Draw(t, "number"))
		})).Draw(t, "bytes")
		agree(t, rapid.Bool().Draw(t, "bool"), other)
		agree(t, rapid.OneOf(rapid.String(), rapid.Just("\xff")).Draw(t, "string"), other)
		agree(t, rapid.Int().Draw(t, "int"), other)
		agree(t, rapid.Int32().Draw(t, "int32"), other)
		agree(t, rapid.Int64().Draw(t, "int64"), other)
		agree(t, rapid.Uint().Draw(t, "uint"), other)
		agree(t, rapid.Uint32().Draw(t, "uint32"), other)
		agree(t, rapid.Uint64().Draw(t, "uint64"), other)
	})
	if _, ok := appendPlain(nil, struct{}{}); ok || decodePlain([]byte{0}, new(struct{})) {
		t.Error("a struct is plain")
	}
}
