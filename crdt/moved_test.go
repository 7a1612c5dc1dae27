package crdt

import (
	"errors"
	"slices"
	"testing"
)

// itemsIn returns the live items of a store.
func itemsIn(s *Store) []*Item { return slices.Collect(s.Snapshot().Items()) }

// TestAdoptedItemsAreOneState: replicas that adopt the same items agree, and what types read of
// dots stays as it was.
func TestAdoptedItemsAreOneState(t *testing.T) {
	from := NewReplica(7, StoreOptions{})
	var changes Changes
	for _, fn := range []func(*Tx) error{
		func(tx *Tx) error { return GCounter{}.Mutator(tx).Increment(5) },
	} {
		if _, err := from.Update("count", 0, fn, &changes); err != nil {
			t.Fatal(err)
		}
	}
	add := func(elem string) func(*Tx) error {
		return func(tx *Tx) error { return NodeSet[string]{}.Mutator(tx).Add(elem) }
	}
	for _, elem := range []string{"a", "b"} {
		if _, err := from.Update("owned", 0, add(elem), &changes); err != nil {
			t.Fatal(err)
		}
	}
	a, b := NewReplica(7, StoreOptions{}), NewReplica(8, StoreOptions{})
	for _, r := range []*Replica{a, b, a} { // twice is once
		if _, err := r.Adopt(1, slices.Values(itemsIn(from.Store())), &changes); err != nil {
			t.Fatal(err)
		}
	}
	same := func() {
		t.Helper()
		if !a.Store().Clock().Equal(b.Store().Clock()) || a.Store().Digest() != b.Store().Digest() {
			t.Fatalf("%v and %v", a.Store(), b.Store())
		}
		for _, r := range []*Replica{a, b} {
			if err := r.Store().Check(); err != nil {
				t.Fatal(err)
			}
		}
	}
	same()
	// The origin goes on to count: its event removes its own moved count, whose number is higher.
	g, err := a.Update("count", 0, func(tx *Tx) error { return GCounter{}.Mutator(tx).Increment(2) }, &changes)
	if err != nil {
		t.Fatal(err)
	}
	if g[0].Dot != (Dot{Origin: 7, Seq: 1}) || len(g[0].Removes) != 1 || !g[0].Removes[0].IsMoved() {
		t.Fatalf("the event is %v", g)
	}
	sent, err := DecodeGroup(AppendGroup(nil, g))
	if err != nil {
		t.Fatal(err)
	}
	late := NewReplica(9, StoreOptions{})
	if got, err := late.Apply(sent, &changes); got != Waiting || err != nil {
		t.Fatalf("without the moved count: %v, %v", got, err)
	}
	if got, err := b.Apply(sent, &changes); got != Applied || err != nil {
		t.Fatalf("%v, %v", got, err)
	}
	same()
	if n, err := (GCounter{}).View(b.Store().View("count")); err != nil || n.Value() != 7 {
		t.Fatalf("%d, %v", n.Value(), err)
	}
	b.SetLiving(NewLiving(7), &changes)
	owned, err := NodeSet[string]{}.View(b.Store().View("owned"))
	if err != nil || !owned.Contains("a") || !owned.Contains("b") {
		t.Fatalf("%v, %v", owned, err)
	}
	b.SetLiving(NewLiving(8), &changes)
	if owned, _ = (NodeSet[string]{}).View(b.Store().View("owned")); owned.Contains("a") {
		t.Fatal("what a removed node owned is shown")
	}
}

func TestMovedNumbersAreNoEvents(t *testing.T) {
	r, ch := NewReplica(1, StoreOptions{}), &Changes{}
	far := Dot{Origin: 2, Seq: SeqMax}
	event := Group{{Dot: far.Moved(1), Key: "k", Path: "\x02p", Puts: true}}
	if _, err := r.Apply(event, ch); !errors.Is(err, ErrMalformed) {
		t.Errorf("an event with the number of a moved item: %v", err)
	}
	moved := []*Item{{Dot: Dot{Origin: 2, Seq: 3}.Moved(1), Key: "k", Path: "\x02p"}}
	if _, err := r.Adopt(2, slices.Values(moved), ch); !errors.Is(err, ErrMalformed) {
		t.Errorf("an item is moved twice: %v", err)
	}
	if _, err := r.Adopt(0, slices.Values([]*Item(nil)), ch); !errors.Is(err, ErrMalformed) {
		t.Errorf("a move without a number: %v", err)
	}
	if r.Store().Len() > 0 || !r.Store().Clock().Empty() {
		t.Errorf("something has changed: %v", r.Store())
	}
	c := &Clock{}
	c.AddRange(1, 1, 4)
	c.AddRange(1, 6, 9)
	c.AddRange(1, Dot{Origin: 1, Seq: 1}.Moved(1).Seq, Dot{Origin: 1, Seq: 8}.Moved(1).Seq)
	if c.LastEvent(1) != 9 || c.Max(1) != 1<<48|8 || c.LastEvent(2) != 0 {
		t.Errorf("last event %d, max %d", c.LastEvent(1), c.Max(1))
	}
}
