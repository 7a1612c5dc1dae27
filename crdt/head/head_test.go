package head_test

import (
	"math"
	"testing"

	"github.com/coterie-go/coterie/crdt/head"
	"github.com/fxamacker/cbor/v2"
)

// What is written is what another encoder of CBOR writes, and is read again; a head that is cut
// off, of another type or longer than needed is not.
func TestHeads(t *testing.T) {
	for _, n := range []uint64{0, 1, 23, 24, math.MaxUint8, math.MaxUint8 + 1, math.MaxUint16, math.MaxUint16 + 1, math.MaxUint32, math.MaxUint32 + 1,
		math.MaxUint64} {
		b := head.Append(nil, head.Uint, n)
		if want, err := cbor.Marshal(n); err != nil || string(b) != string(want) {
			t.Errorf("%d is %x, want %x", n, b, want)
		}
		for _, major := range []byte{head.Uint, head.Int, head.Bytes, head.Text, head.Array, head.Map} {
			b := head.Append(nil, major, n)
			if got, size := head.Read(append(b, 0xff), major); got != n || size != len(b) {
				t.Errorf("%x reads as %d of %d bytes", b, got, size)
			}
			if _, size := head.Read(b, major^head.Bytes); size != 0 {
				t.Errorf("%x reads as another type", b)
			}
			if _, size := head.Read(b[:len(b)-1], major); size != 0 {
				t.Errorf("%x cut off reads", b)
			}
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, b := range []string{"\x00", "\x18\x17", "\x18\x18", "\x19\x00\xff", "\x1a\x00\x00\xff\xff", "\x1b\x00\x00\x00\x00\xff\xff\xff\xff", "\x1c", "\x1f"} {
		f.Add([]byte(b))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) == 0 {
			return
		}
		major := b[0] & 0xe0
		if n, size := head.Read(b, major); size > 0 && string(head.Append(nil, major, n)) != string(b[:size]) {
			t.Errorf("%x has two encodings", b[:size])
		}
	})
}
