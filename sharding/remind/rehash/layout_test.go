package rehash

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to other builds.
func TestGoldenRecord(t *testing.T) {
	settled := record{layout: Layout{100, "xxhash"}}
	under := record{layout: Layout{Shards: 1 << 20}, move: move{by: term(300, 70_000), round: 3}}
	golden.Formats(t, []golden.Sample{
		{Name: "layout", Level: 2, Bytes: encode(settled), Want: settled, Read: golden.Reads(decode)},
		{Name: "move", Level: 2, Bytes: encode(under), Want: under, Read: golden.Reads(decode)},
	})
}

func FuzzDecode(f *testing.F) {
	f.Add(encode(record{layout: Layout{100, "xxhash"}}))
	f.Add(encode(record{layout: Layout{Shards: 7}, move: move{by: term(1, 2), round: 1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := decode(b); err == nil && !slices.Equal(encode(r), b) {
			t.Errorf("%x: %+v", b, r)
		}
	})
}
