package lmdb

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to directories that other versions have made.
func TestGoldenSlots(t *testing.T) {
	golden.Bytes(t, "testdata/slots.hex", func(yield func(string, []byte) bool) {
		for _, s := range []nodeState{{ID: 1}, {ID: 1 << 63, Made: true, Note: []byte("note")}} {
			if !yield("slot", encodeSlot(s, 300)) {
				return
			}
		}
	})
}
