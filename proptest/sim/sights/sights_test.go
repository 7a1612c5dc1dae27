package sights_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/proptest/sim/sights"
)

// TestSightsFollow what is added and removed, beside a look at all elements.
func TestSightsFollow(t *testing.T) {
	r := crdt.NewReplica(1, crdt.StoreOptions{})
	b, seen := history.New().Set("v/set/1"), sights.Sights{}
	for i := range 2000 {
		elem := fmt.Sprint("e", i)
		b.Add(elem, 0)
		if _, err := r.Update(b.Key, 0, crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
			if i%3 == 0 {
				return s.Remove(fmt.Sprint("e", i/2))
			}
			return s.Add(elem)
		}), &crdt.Changes{}); err != nil {
			t.Fatal(err)
		}
		if i%5 != 0 {
			continue
		}
		got, err := seen.Look(b, r.Store().View(b.Key))
		if err != nil {
			t.Fatal(err)
		}
		set, err := crdt.ORSet[string]{}.View(r.Store().View(b.Key))
		if err != nil {
			t.Fatal(err)
		}
		if all := b.Seen(set.All()); !all.Equal(got) {
			t.Fatalf("after %d changes it shows %x, followed %x", i+1, all, got)
		}
	}
	elems := slices.Values([]string{"e1", "another"})
	if got := b.Seen(elems); !got.Has(b.Entries[1]) || got.Has(b.Entries[2]) || got.Has(b.Entries[400]) {
		t.Errorf("%x are seen", got)
	}
}
