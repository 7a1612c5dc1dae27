package delivery

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/sharding"
)

// A body comes back as it was, with its header if there is room for one.
func TestBody(t *testing.T) {
	body := cbor.AppendNull(cbor.AppendUint(cbor.AppendArray(nil, 2), uint64(7)))
	traced := withHeader([]byte{0xaa, 0xbb}, body, 100)
	if got := hex.EncodeToString(traced); got != "8301"+"42aabb"+"8207f6" {
		t.Errorf("%s", got)
	}
	for _, c := range []struct {
		b      []byte
		header string
	}{{body, ""}, {traced, "aabb"}, {withHeader([]byte{0xaa}, body, len(body)+3), ""}} {
		header, got, err := openBody(c.b)
		if err != nil || !bytes.Equal(got, body) || hex.EncodeToString(header) != c.header {
			t.Errorf("%x is %x with %x: %v", c.b, got, header, err)
		}
	}
	for _, b := range [][]byte{
		{0x83, 0x02, 0x40, 0xf6}, {0x83, 0x01, 0x61, 0x61},
		withHeader(make([]byte, tracing.HeaderMax+1), body, 1<<20),
	} {
		if _, _, err := openBody(b); !errors.Is(err, sharding.ErrEncoding) {
			t.Errorf("%.20x: %v", b, err)
		}
	}
}

// Whatever comes is a body, or an error.
func FuzzBody(f *testing.F) {
	f.Add([]byte{0x82, 0x07, 0xf6})
	f.Add([]byte{0x83, 0x01, 0x41, 0xaa, 0x82, 0x07, 0xf6})
	f.Fuzz(func(t *testing.T, b []byte) {
		header, body, err := openBody(b)
		if err == nil && len(header)+len(body) > len(b) {
			t.Errorf("%x is %x with %x", b, body, header)
		}
	})
}
