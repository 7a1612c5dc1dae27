package crdt

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/proptest/defect"
)

// Each rule of the dotted store has a test here that fails when the care is taken out: it is run
// with the planted defect too, and must then fail.

func itemsOf(s *Snapshot) []Item {
	var items []Item
	for it := range s.Items() {
		items = append(items, *it)
	}
	return items
}

func holdsUnless(t *testing.T, defects defect.Set, scenario func(t *testing.T, f defect.Set) bool) {
	t.Helper()
	if !scenario(t, defect.Set{}) {
		t.Error("the rule does not hold")
	}
	if scenario(t, defects) {
		t.Error("the planted defect went unnoticed")
	}
}

func putRegister(t *testing.T, r *Replica, value string, ts Timestamp) Group {
	t.Helper()
	return mustUpdate(t, r, "k", Mutate[LWWRegister[string]](func(l *LWWRegisterTx[string]) error {
		_, err := l.PutAt(value, ts)
		return err
	}))
}

func mustApply(t *testing.T, s *Store, gs ...Group) {
	t.Helper()
	for _, g := range gs {
		if out, err := s.Apply(g, nil); out != Applied || err != nil {
			t.Fatal(out, err)
		}
	}
}

// R1: two concurrent puts and the removal of the winner give the same whatever comes first.
func TestApplyNeverDropsASiblingByItself(t *testing.T) {
	holdsUnless(t, defect.Of(defect.DropLosingSibling), func(t *testing.T, f defect.Set) bool {
		low := putRegister(t, NewReplica(1, StoreOptions{}), "low", Timestamp{High: 5})
		winner := NewReplica(2, StoreOptions{})
		high := putRegister(t, winner, "high", Timestamp{High: 9})
		gone := mustUpdate(t, winner, "k",
			Mutate[LWWRegister[string]](func(l *LWWRegisterTx[string]) error { return l.Remove() }))
		one, two := NewStore(StoreOptions{planted: f}), NewStore(StoreOptions{planted: f})
		mustApply(t, one, low, high, gone)
		mustApply(t, two, high, gone, low)
		return one.Clock().Equal(two.Clock()) && one.Digest() == two.Digest()
	})
}

// R1, the writer's side: a put that loses is a no-op, or it would come back when its better is
// removed.
func TestLosingPutMakesNoEvent(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	putRegister(t, r, "high", Timestamp{High: 9})
	if g := putRegister(t, r, "low", Timestamp{High: 5}); g != nil {
		t.Fatalf("a losing put made %v", g)
	}
	if g := putRegister(t, r, "high", Timestamp{High: 9}); g != nil {
		t.Fatalf("the same put again made %v", g)
	}
}

// R2: B holds an item that A has removed, and C has heard from A only what came before the removal.
// A dies. C and B repair each other: the item must live, for no living replica has seen its
// removal.
func TestSupersededEventsShipWithTheirPayload(t *testing.T) {
	holdsUnless(t, defect.Of(defect.BareFactWithoutRemover), func(t *testing.T, f defect.Set) bool {
		a := NewReplica(1, StoreOptions{planted: f})
		add := mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add("x") }))
		b := NewStore(StoreOptions{})
		mustApply(t, b, add)
		mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Remove("x") }))
		c := NewStore(StoreOptions{})
		gs, more, _ := a.Store().Missing(c.Clock(), 1)
		if len(gs) != 1 || !more {
			t.Fatal("one frame must hold one group", gs, more)
		}
		mustApply(t, c, gs...)
		snap := c.Snapshot()
		if err := b.Merge(snap.Clock(), snap.Live, itemsOf(snap), nil); err != nil {
			t.Fatal(err)
		}
		return b.Len() == 1
	})
}

// R4: an item is inserted only if the receiver's clock of that moment lacks its dot, and before the
// clocks are joined.
func TestMergeInsertsBeforeItJoinsClocks(t *testing.T) {
	holdsUnless(t, defect.Of(defect.ClockBeforeItems), func(t *testing.T, f defect.Set) bool {
		a := NewReplica(1, StoreOptions{})
		mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add("x") }))
		snap := a.Store().Snapshot()
		b := NewStore(StoreOptions{planted: f})
		if err := b.Merge(snap.Clock(), snap.Live, itemsOf(snap), nil); err != nil {
			t.Fatal(err)
		}
		return b.Digest() == snap.Digest() && b.Clock().Equal(snap.Clock())
	})
}

// R4: items staged from a donor do not bring back what the receiver has seen removed meanwhile.
func TestMergeUsesTheCurrentClock(t *testing.T) {
	a := NewReplica(1, StoreOptions{})
	add := mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add("x") }))
	donor := a.Store().Snapshot()
	staged := itemsOf(donor)
	b := NewStore(StoreOptions{})
	mustApply(t, b, add, mustUpdate(t, a, "s",
		Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Clear() })))
	if err := b.Merge(donor.Clock(), donor.Live, staged, nil); err != nil {
		t.Fatal(err)
	}
	if b.Len() != 0 {
		t.Fatal("a removed item came back")
	}
}

// R5: equal clocks and different digests are repaired by union.
func TestUnionDropsNothing(t *testing.T) {
	holdsUnless(t, defect.Of(defect.UnionDrops), func(t *testing.T, f defect.Set) bool {
		a := NewReplica(1, StoreOptions{})
		for _, e := range []string{"x", "y"} {
			mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add(e) }))
		}
		whole := a.Store().Snapshot()
		items := itemsOf(whole)
		damaged := func(lost int) *Store { // a store whose disk lost one row
			s := NewStore(StoreOptions{planted: f})
			it := items[1-lost]
			if err := s.Load(whole.Clock(), HashItem(0, &it), asRows([]Item{it}, nil)); err != nil {
				t.Fatal(err)
			}
			return s
		}
		b, c := damaged(0), damaged(1)
		var ch Changes
		b.Union(itemsOf(c.Snapshot()), &ch)
		if err := b.Check(); err != nil {
			t.Fatal(err)
		}
		return b.Digest() == whole.Digest() && len(ch.Put) == 1 && len(ch.Dropped) == 0
	})
}

// R3: rows that do not belong to their clock and digest are refused with a reason.
func TestLoadVerifies(t *testing.T) {
	a := NewReplica(1, StoreOptions{})
	for _, e := range []string{"x", "y"} {
		mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add(e) }))
	}
	snap := a.Store().Snapshot()
	items := itemsOf(snap)
	for name, c := range map[string]struct {
		clock *Clock
		items []Item
		read  error
		want  error
	}{
		"row lost":    {snap.Clock(), items[:1], nil, ErrDigest},
		"row twice":   {snap.Clock(), append(items[:1:1], items...), nil, ErrMalformed},
		"clock stale": {&Clock{}, items, nil, ErrMalformed},
		"no key":      {snap.Clock(), []Item{{Dot: items[0].Dot}}, nil, ErrKey},
		"disk broken": {snap.Clock(), items, errBroken, errBroken},
	} {
		s := NewStore(StoreOptions{})
		if err := s.Load(c.clock, snap.Digest(), asRows(c.items, c.read)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if s.Len() != 0 || !s.Clock().Empty() {
			t.Errorf("%s: the store is not empty: %v", name, s)
		}
	}
	if err := NewReplica(1, StoreOptions{}).Load(snap.Clock(), snap.Digest(),
		asRows(items, nil)); !errors.Is(err, ErrOwnFuture) {
		t.Error("an origin was used twice:", err)
	}
}

var errBroken = errors.New("the disk is broken")

// asRows yields items, and the error of the reader behind them unless it is nil.
func asRows(items []Item, err error) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for _, it := range items {
			if !yield(it, nil) {
				return
			}
		}
		if err != nil {
			yield(Item{}, err)
		}
	}
}

// R9: a group that waits for one dot leaves no trace at all.
func TestGroupsAreAllOrNothing(t *testing.T) {
	a := NewReplica(1, StoreOptions{})
	add := mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add("x") }))
	both := mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
		if err := s.Add("y"); err != nil {
			return err
		}
		return s.Remove("x")
	}))
	b := NewStore(StoreOptions{})
	var ch Changes
	if out, err := b.Apply(both, &ch); out != Waiting || err != nil ||
		!slices.Equal(ch.Missing, []Dot{{Origin: 1, Seq: 1}}) {
		t.Fatal(out, err, ch.Missing)
	}
	if b.Len() != 0 || !b.Clock().Empty() || len(ch.Put)+len(ch.Keys) > 0 {
		t.Fatal("a waiting group left a trace", b)
	}
	mustApply(t, b, add, both)
	if b.Digest() != a.Store().Digest() {
		t.Fatal("not equal")
	}
}

// Hazard 2: of a group that a merge has covered in part, only the rest is applied, and only the
// rest is logged.
func TestGroupCoveredInPart(t *testing.T) {
	a := NewReplica(1, StoreOptions{})
	g := mustUpdate(t, a, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error {
		for _, e := range []string{"u", "v", "w"} {
			if err := s.Add(e); err != nil {
				return err
			}
		}
		return s.Remove("v")
	}))
	var part Clock
	part.AddRange(1, 2, 2)
	b := NewStore(StoreOptions{})
	if err := b.MergeDiff(&part, nil, []Item{{Dot: Dot{Origin: 1, Seq: 2}, Key: "s", Path: "\x02v"}}, nil); err != nil {
		t.Fatal(err)
	}
	mustApply(t, b, g)
	if err := b.Check(); err != nil {
		t.Fatal(err)
	}
	if b.Digest() != a.Store().Digest() || b.LogLen() != 3 || !b.Floor().Equal(&part) {
		t.Fatal(b)
	}
	if _, _, covered := b.Missing(&Clock{}, 1<<20); covered {
		t.Fatal("the log claims to cover what a merge brought")
	}
}
