package main

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest"
)

// all is the specification: what a node reads is the sum of all votes that it has heard of.
func all(h proptest.History[uint64]) any {
	sum := uint64(0)
	for vote := range h.All() {
		sum += vote.Op
	}
	return sum
}

// TestVotes runs the type on several replicas, with crashes, repairs and lost messages.
func TestVotes(t *testing.T) {
	proptest.Laws[Votes, *VotesTx, uint64]{
		Op:    rapid.Uint64Range(1, 3),
		Do:    (*VotesTx).Add,
		Value: func(v Votes) any { return v.Count },
		Model: all,
	}.Check(t)
}

func Example() {
	here, there := crdt.New[Votes](1), crdt.New[Votes](2)
	for _, node := range []*crdt.Standalone[Votes, *VotesTx]{here, there} {
		if _, err := node.Update(func(m *VotesTx) error { return m.Add(2) }); err != nil {
			fmt.Println(err)
		}
	}
	if err := here.Merge(there); err != nil {
		fmt.Println(err)
	}
	fmt.Println(here.Value())
	// Output: {4} <nil>
}
