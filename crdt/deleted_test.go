package crdt

import (
	"errors"
	"slices"
	"strconv"
	"testing"
)

func deleteForever(t testing.TB, r *Replica, key string) Group {
	t.Helper()
	g, err := r.DeleteForever(key, nil)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func addTo(key string, es ...string) (string, func(*Tx) error) {
	return key, Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
		for _, e := range es {
			if err := s.Add(e); err != nil {
				return err
			}
		}
		return nil
	})
}

func add(t testing.TB, r *Replica, key string, es ...string) Group {
	t.Helper()
	k, fn := addTo(key, es...)
	return mustUpdate(t, r, k, fn)
}

func wantDeleted(t testing.TB, s *Store, key string) {
	t.Helper()
	snap := s.Snapshot()
	for _, r := range []Reader{s.View(key), snap.View(key)} {
		if _, err := ViewOf[ORSet[string]](r); !errors.Is(err, ErrDeleted) || !r.Deleted() || !r.Empty() ||
			r.Len() != 0 || r.First() != nil {
			t.Fatalf("%q reads %v, %d items", key, err, r.Len())
		}
		if err := r.CheckKind(KindGCounter); !errors.Is(err, ErrDeleted) {
			t.Fatal(err)
		}
	}
	if slices.Contains(slices.Collect(snap.Keys("")), key) {
		t.Fatalf("%q is listed", key)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

func TestDeleteForeverLeavesOneItemAndRefusesUpdates(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	add(t, r, "s", "x", "y")
	add(t, r, "other", "x")
	deleteForever(t, r, "s")
	wantDeleted(t, r.Store(), "s")
	if r.Store().Len() != 2 || r.Store().Snapshot().KeyCount() != 1 {
		t.Fatal(r.Store())
	}
	ran := false
	if _, err := r.Update("s", 0, func(*Tx) error { ran = true; return nil }, nil); !errors.Is(err, ErrDeleted) || ran {
		t.Fatal(err, ran)
	}
	if g := deleteForever(t, r, "s"); g != nil {
		t.Fatal("deleted twice", g)
	}
	deleteForever(t, r, "never was")
	wantDeleted(t, r.Store(), "never was")
	if gs := sweepAll(t, r); gs != nil {
		t.Fatal("swept", gs)
	}
}

// What others wrote at the same time is hidden in whatever order it comes, and goes; of markers put
// at the same time one stays.
func TestWhatMeetsTheMarkerIsHiddenAndSwept(t *testing.T) {
	a, b, c := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{}), NewReplica(3, StoreOptions{})
	old := add(t, a, "s", "old")
	mustApply(t, b.Store(), old)
	gone := deleteForever(t, a, "s")
	late, more := add(t, b, "s", "late", "more"), add(t, c, "s", "unseen")
	second := deleteForever(t, c, "s")
	mustApply(t, a.Store(), late, more, second)
	mustApply(t, b.Store(), more, second, gone)
	mustApply(t, c.Store(), old, gone, late)
	for _, r := range []*Replica{a, b, c} {
		wantDeleted(t, r.Store(), "s")
	}
	if a.Store().Digest() != c.Store().Digest() || a.Store().Digest() != b.Store().Digest() {
		t.Fatal("they differ")
	}
	// Two sweep at the same time, having seen different markers, and one marker is left.
	d, e := NewReplica(4, StoreOptions{}), NewReplica(5, StoreOptions{})
	third := deleteForever(t, NewReplica(6, StoreOptions{}), "s")
	mustApply(t, d.Store(), old, gone, more, second)
	mustApply(t, e.Store(), more, second, third)
	one, two := sweepAll(t, d), sweepAll(t, e)
	// A node that has seen one marker, and hears of the sweep before the other marker, is never
	// without a marker.
	f := NewReplica(7, StoreOptions{})
	mustApply(t, f.Store(), more, second)
	for _, g := range one {
		if _, err := f.Store().Apply(g, nil); err != nil { // applied or waiting for the other marker
			t.Fatal(err)
		}
	}
	wantDeleted(t, f.Store(), "s")
	mustApply(t, f.Store(), old, gone)
	wantDeleted(t, f.Store(), "s")
	mustApply(t, a.Store(), third)
	mustApply(t, a.Store(), one...)
	mustApply(t, a.Store(), two...)
	wantDeleted(t, a.Store(), "s")
	sweepAll(t, a)
	wantDeleted(t, a.Store(), "s")
	if a.Store().Len() != 1 {
		t.Fatal(a.Store())
	}
}

// A key of two types cannot be read any more, but it can be permanently deleted too; so can a key
// of more items than one event removes.
func TestDeleteForeverTakesEverything(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	add(t, r, "s", "x")
	mustUpdate(t, r, "s", func(tx *Tx) error { return LWWRegister[int]{}.Mutator(tx).Put(1) })
	deleteForever(t, r, "s")
	wantDeleted(t, r.Store(), "s")
	many := make([]string, RemovesMax/2+1)
	for i := range many {
		many[i] = strconv.Itoa(i)
	}
	add(t, r, "big", many...)
	for i := range many {
		many[i] = "b" + many[i]
	}
	add(t, r, "big", many...)
	if g := deleteForever(t, r, "big"); len(g) != 2 || r.Store().Len() != 2 {
		t.Fatalf("%d events, %v", len(g), r.Store())
	}
	wantDeleted(t, r.Store(), "big")
}

// A marker comes with a repair and from rows as it comes with its event.
func TestMarkerSurvivesMergeAndLoad(t *testing.T) {
	a, b := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{})
	add(t, b, "s", "x")
	deleteForever(t, a, "s")
	snap := a.Store().Snapshot()
	if err := b.Merge(snap.Clock(), snap.Live, itemsOf(snap), nil); err != nil {
		t.Fatal(err)
	}
	wantDeleted(t, b.Store(), "s")
	c := NewReplica(3, StoreOptions{})
	if err := c.Load(b.Store().Clock(), b.Store().Digest(), asRows(itemsOf(b.Store().Snapshot()), nil)); err != nil {
		t.Fatal(err)
	}
	wantDeleted(t, c.Store(), "s")
	sweepAll(t, c)
	if c.Store().Len() != 1 {
		t.Fatal(c.Store())
	}
}
