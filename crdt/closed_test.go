package crdt

import (
	"fmt"
	"testing"

	"github.com/coterie-go/coterie/crdt/iblt"
)

// aged returns a store with the events of so many origins. Each has put two items, and the next has
// removed the second one.
func aged(t *testing.T, origins int) *Store {
	t.Helper()
	s := NewStore(StoreOptions{LogMax: 1000})
	for i := range origins {
		o := incarnation(i)
		g := Group{
			{Dot: Dot{Origin: o, Seq: 1}, Key: "stays", Path: fmt.Sprint(i), Puts: true},
			{Dot: Dot{Origin: o, Seq: 2}, Key: "goes", Path: fmt.Sprint(i), Puts: true},
		}
		if i > 0 {
			g[1].Removes = []Dot{{Origin: incarnation(i - 1), Seq: 2}}
		}
		if out, err := s.Apply(g, nil); out != Applied || err != nil {
			t.Fatal(out, err)
		}
	}
	return s
}

// incarnation is the id of the i-th process of a cluster.
func incarnation(i int) Origin { return Origin(i+1) * 1_000_003 }

// over returns the dots of the first incarnations, which have ended.
func over(n int) *Clock {
	c := &Clock{}
	c.Close(0, incarnation(n-1), 0)
	return c
}

// A store in which 200,000 incarnations were closed has a clock of a few bytes, takes nothing of them
// any more, and removes what lives of them as before.
func TestStoreOfManyClosedOrigins(t *testing.T) {
	const n = 200_000
	s := aged(t, n+3)
	before, digest, items := s.Clock().Size(), s.Digest(), s.Len()
	if err := s.MergeDiff(over(n), nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if after := s.Clock().Size(); after > 80 || before < 10*n {
		t.Fatalf("the clock has %d bytes, and had %d", after, before)
	} else {
		t.Logf("the clock has %d bytes, and had %d", after, before)
	}
	if s.Digest() != digest || s.Len() != items || s.Check() != nil {
		t.Fatalf("%d items of %d, %v", s.Len(), items, s.Check())
	}
	for _, late := range []Dot{
		{Origin: incarnation(5), Seq: 1}, {Origin: incarnation(5), Seq: 7}, {Origin: 12345, Seq: 1},
	} {
		g := Group{{Dot: late, Key: "late", Puts: true, Path: "x"}}
		if out, err := s.Apply(g, nil); out != Duplicate || err != nil {
			t.Errorf("a late event %v is %v, %v", late, out, err)
		}
	}
	remove := Event{Dot: Dot{Origin: incarnation(n + 3), Seq: 1}, Key: "stays", Path: "7", Removes: []Dot{
		{Origin: incarnation(7), Seq: 1}, {Origin: incarnation(7), Seq: 9},
	}}
	if out, err := s.Apply(Group{remove}, nil); out != Applied || err != nil || s.Len() != items-1 {
		t.Errorf("%v, %v: %d items", out, err, s.Len())
	}
	if s.View("stays").Len() != n+2 || s.View("late").Len() != 0 || s.Check() != nil {
		t.Errorf("%d items, %v", s.View("stays").Len(), s.Check())
	}
	s.Trim(s.Clock())
	if err := s.Check(); err != nil || s.Floor().Size() > 80 {
		t.Errorf("a floor of %d bytes, %v", s.Floor().Size(), err)
	}
}

// What differs between two stores with closed origins is found, and mended, as elsewhere: by the log,
// by ranges where one clock has dots, by a sketch where both have them.
func TestClosedStoresAreReconciled(t *testing.T) {
	const n = 300
	a, b := aged(t, n+2), aged(t, n+2)
	for _, s := range []*Store{a, b} {
		if err := s.MergeDiff(over(n), nil, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	g := Group{{Dot: Dot{Origin: incarnation(n + 5), Seq: 1}, Key: "stays", Path: "3", Removes: []Dot{
		{Origin: incarnation(3), Seq: 1}, {Origin: incarnation(90), Seq: 1},
	}}}
	if out, err := a.Apply(g, nil); out != Applied || err != nil {
		t.Fatal(out, err)
	}
	if gs, more, covered := a.Missing(b.Clock(), PayloadMax); len(gs) != 1 || more || !covered {
		t.Errorf("the log gives %v, %v, %v", gs, more, covered)
	}

	// b has both items, and its clock their dots.
	within := a.Clock().And(b.Clock())
	mine, theirs := b.Pin(), a.Pin()
	f := mine.Finder(1, within)
	dec := iblt.NewDecoder(f.Key(), func(id uint64) bool { _, ok := f.Find(id); return ok })
	cells := func(p *Pinned) []iblt.Cell {
		k := p.Sketcher(1, 64, within)
		for !k.Work(100) {
		}
		return k.Cells()
	}
	for dec.Add(cells(mine), cells(theirs)); dec.Peel(100); {
	}
	var gone []Dot
	for _, id := range dec.Found() {
		d, ok := f.Find(id)
		if !ok || !mine.Live(d) {
			t.Fatalf("%x is %v", id, d)
		}
		gone = append(gone, d)
	}
	if len(gone) != 2 || !dec.Done() {
		t.Fatalf("the sketch tells %v", gone)
	}
	if err := b.MergeDiff(a.Clock(), gone, nil, nil); err != nil || b.Digest() != a.Digest() || b.Check() != nil {
		t.Fatalf("%v, digests %v and %v", err, a.Digest(), b.Digest())
	}

	// A store that is empty takes all that lives, also in parts.
	c := NewStore(StoreOptions{})
	var items []Item
	for rest := a.Clock().Minus(c.Clock()); !rest.Empty(); {
		part := 0
		var last Dot
		for it := range a.In(rest, Dot{}) {
			if part++; part > 50 {
				break
			}
			items, last = append(items, *it), it.Dot
		}
		if part <= 50 {
			break
		}
		rest = rest.After(last)
	}
	if err := c.MergeDiff(a.Clock(), nil, items, nil); err != nil || c.Digest() != a.Digest() ||
		!c.Clock().Equal(a.Clock()) || c.Check() != nil {
		t.Fatalf("%v: %d items of %d", err, c.Len(), a.Len())
	}
}

// Items that move into a store find no place taken by origins that are over.
func TestMovesAfterOriginsAreClosed(t *testing.T) {
	from, to := aged(t, 10), NewReplica(99_000_000, StoreOptions{})
	if err := to.MergeDiff(over(10), nil, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := to.Adopt(1, from.Snapshot().Items(), nil); err != nil || to.Store().Len() != from.Len() {
		t.Fatalf("%d of %d items moved, %v", to.Store().Len(), from.Len(), err)
	}
	rows := to.Store().Clock().Size()
	closed := &Clock{}
	closed.Close(0, incarnation(9), 1)
	if err := to.MergeDiff(closed, nil, nil, nil); err != nil || to.Store().Clock().Size() > 40 || rows < 100 {
		t.Errorf("%d bytes, %d before: %v", to.Store().Clock().Size(), rows, err)
	}
	if err := to.Store().Check(); err != nil {
		t.Error(err)
	}
}
