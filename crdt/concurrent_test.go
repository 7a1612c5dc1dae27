package crdt

import (
	"fmt"
	"sync"
	"testing"
)

// Snapshots and views are read by many goroutines while the store goes on being written; run it
// with -race.
func TestSnapshotsAreReadWhileTheStoreIsWritten(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	for i := range 200 {
		addAll(t, r, "big", fmt.Sprintf("e%04d", i))
		addAll(t, r, fmt.Sprintf("small/%03d", i), "x", "y")
	}
	var wg sync.WaitGroup
	for round := range 20 {
		snap, view := r.Store().Snapshot(), r.Store().View("big")
		want, paths, digest := snap.Len(), view.Paths(), sumOf(view)
		for range 2 {
			wg.Go(func() { readAll(t, snap, view, want, paths, digest) })
		}
		for i := range 50 {
			e := fmt.Sprintf("e%04d", (round*37+i)%300)
			mustUpdate(t, r, "big", Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
				if s.Contains(e) {
					return s.Remove(e)
				}
				return s.Add(e)
			}))
			addAll(t, r, fmt.Sprintf("small/%03d", i), e)
			r.Store().View("big")
		}
	}
	wg.Wait()
	if err := r.Store().Check(); err != nil {
		t.Fatal(err)
	}
}

// sumOf adds up the hashes of what a view shows.
func sumOf(view Reader) (sum Digest) {
	for it := range view.Items("") {
		sum = sum.Plus(HashItem(0, it))
	}
	return sum
}

func readAll(t *testing.T, snap *Snapshot, view Reader, want, paths int, digest Digest) {
	n, sum := 0, Digest{}
	for it := range snap.Items() {
		n++
		sum = sum.Plus(HashItem(0, it))
		if got, ok := snap.Item(it.Dot); !ok || got != it || !snap.Clock().Has(it.Dot) {
			t.Errorf("%v is not found by its dot", it)
		}
	}
	if n != want || sum != snap.Digest() {
		t.Errorf("a snapshot of %d items reads %d", want, n)
	}
	s, err := ViewOf[ORSet[string]](view)
	if err != nil || s.Len() != paths || sumOf(view) != digest {
		t.Error("a view changed", err)
	}
	k := 0
	for e := range s.All() {
		if !s.Contains(e) {
			t.Errorf("%q is not in its set", e)
		}
		k++
	}
	if k != paths {
		t.Errorf("a view of %d elements reads %d", paths, k)
	}
}
