package eventsourced

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
)

// The bytes are a promise to stores that other builds have written.
func TestGoldenSnapshot(t *testing.T) {
	type snapshot struct {
		older []uint64
		state string
	}
	golden.Formats(t, []golden.Sample{{
		Name: "snapshot", Bytes: sealSnapshot([]uint64{3, 300}, []byte("state")),
		Want: snapshot{[]uint64{3, 300}, "state"},
		Read: func(b []byte) (any, error) {
			older, state, err := openSnapshot(301, b)
			return snapshot{older, string(state)}, err
		},
	}})
}
