package sums

import (
	"testing"

	"github.com/coterie-go/coterie/crdt"
)

// holding returns a replica that holds an element in the set of a key, after an event.
func holding(t *testing.T, origin crdt.Origin, key, elem string) *crdt.Store {
	t.Helper()
	r := crdt.NewReplica(origin, crdt.StoreOptions{})
	if _, err := r.Update(key, 0, crdt.Mutate[crdt.ORSet[string]](func(s *crdt.ORSetTx[string]) error {
		return s.Add(elem)
	}), &crdt.Changes{}); err != nil {
		t.Fatal(err)
	}
	return r.Store()
}

// TestSightingsAreOfEqualClocks: what two replicas hold at the same clock is the same by their digests and by their
// items, and what they hold at other clocks may differ.
func TestSightingsAreOfEqualClocks(t *testing.T) {
	a, b, c := holding(t, 1, "k", "a"), holding(t, 1, "k", "b"), holding(t, 2, "k", "c")
	var s Sightings
	look := func(who uint64, of, digest *crdt.Store, all *crdt.Snapshot, other uint64) {
		t.Helper()
		got, is := s.Look(who, of.Clock(), digest.Digest(), all)
		if got != other || (is == "") != (other == 0) {
			t.Errorf("%d differs from %d, want %d: %q", who, got, other, is)
		}
	}
	look(11, a, a, nil, 0)
	look(11, a, a, nil, 0)
	look(12, c, c, nil, 0)
	look(13, a, b, nil, 11) // equal clocks, other digests
	look(13, a, b, nil, 11)
	look(11, a, b, nil, 11) // its own has changed
	look(13, a, a, a.Snapshot(), 0)
	look(14, a, a, nil, 0)
	look(14, a, a, b.Snapshot(), 13) // the digest hides it
	look(12, c, c, c.Snapshot(), 0)
}
