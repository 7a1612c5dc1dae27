package simtest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
	"github.com/coterie-go/coterie/proptest/simtest"
)

// likes is a counter on three nodes, of which each must read what it has heard of.
var likes = simtest.Data[crdt.GCounter, *crdt.GCounterTx, uint64]{
	Laws: proptest.Laws[crdt.GCounter, *crdt.GCounterTx, uint64]{
		Op:    rapid.Uint64Range(1, 3),
		Do:    (*crdt.GCounterTx).Increment,
		Value: func(c crdt.GCounter) any { return c.Value() },
		Model: func(h proptest.History[uint64]) any {
			sum := uint64(0)
			for like := range h.All() {
				sum += like.Op
			}
			return sum
		},
	},
	Nodes: 3,
}

// A data type is run on simulated nodes that fail, in a test:
func ExampleData() {
	_ = func(t *testing.T) { likes.Check(t) }
}
