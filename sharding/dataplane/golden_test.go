package dataplane

import (
	"testing"

	"github.com/coterie-go/coterie/proptest/golden"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The bytes are a promise to nodes of other builds: they are compared, and kept.
func TestGoldenFloor(t *testing.T) {
	floor := protocol.Token{Epoch: 1 << 40, Up: 3, Seq: 5}
	golden.Formats(t, []golden.Sample{{
		Name: "floor", Bytes: AppendFloor(nil, floor), Want: floor,
		Read: func(b []byte) (any, error) { return FloorOf(b), nil },
	}})
}
