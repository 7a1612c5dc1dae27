package crdt

import (
	"fmt"
	"maps"
	"reflect"
	"testing"
)

func increment(t testing.TB, r *Replica, n uint64) Group {
	t.Helper()
	return mustUpdate(t, r, "c", Mutate[GCounter](func(c *GCounterTx) error { return c.Increment(n) }))
}

func wantCount(t testing.TB, s *Store, want uint64) {
	t.Helper()
	c, err := ViewOf[GCounter](s.View("c"))
	if err != nil || c.Value() != want {
		t.Fatalf("%d, want %d: %v", c.Value(), want, err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
}

func everyone(Dot) bool { return true }

// retiredUpTo says that the origins 1 to n are retired.
func retiredUpTo(n Origin) func(Origin) bool { return func(o Origin) bool { return o <= n } }

// fold folds what the retired among the first origins have left, and returns the one group that
// makes, if any.
func fold(t testing.TB, r *Replica, retired func(Origin) bool, known func(Dot) bool) (made Group) {
	t.Helper()
	for o := Origin(1); o < 10 && retired(o); o++ {
		gs, next, err := r.FoldOf(o, 0, 1000, retired, known, nil)
		if err != nil || next != 0 || len(gs) > 1 || len(gs) == 1 && made != nil {
			t.Fatal(gs, made, next, err)
		}
		if len(gs) == 1 {
			made = gs[0]
		}
	}
	return made
}

// counted is a counter of five origins, of which the first four are retired, at replicas 5 and 6.
func counted(t *testing.T) (a, b *Replica, sum uint64) {
	t.Helper()
	a, b = NewReplica(5, StoreOptions{}), NewReplica(6, StoreOptions{})
	for o := Origin(1); o <= 4; o++ {
		r := NewReplica(o, StoreOptions{})
		g := increment(t, r, uint64(o)*10)
		mustApply(t, a.Store(), g)
		mustApply(t, b.Store(), g)
		sum += uint64(o) * 10
	}
	mustApply(t, b.Store(), increment(t, a, 1))
	return a, b, sum + 1
}

func TestFoldKeepsTheSumInTwoItems(t *testing.T) {
	a, b, sum := counted(t)
	g := fold(t, a, retiredUpTo(4), everyone)
	if len(g) != 1 || a.Store().Len() != 3 {
		t.Fatalf("%v makes %v", g, a.Store())
	}
	wantCount(t, a.Store(), sum)
	wantCount(t, b.Store(), sum)
	mustApply(t, b.Store(), increment(t, a, 5))
	wantCount(t, b.Store(), sum+5)
	mustApply(t, b.Store(), g)
	wantCount(t, b.Store(), sum+5)
	if g := fold(t, a, retiredUpTo(4), everyone); g != nil {
		t.Fatal("nothing is left to fold", g)
	}
	// The folder retires too, and its successor folds what it left.
	if g := fold(t, b, retiredUpTo(5), everyone); len(g) != 1 {
		t.Fatal(g)
	}
	wantCount(t, b.Store(), sum+5)
	if b.Store().Len() != 2 {
		t.Fatal(b.Store())
	}
}

func TestFoldLeavesAloneWhatWouldSaveNothingOrIsNotKnown(t *testing.T) {
	a, _, sum := counted(t)
	if g := fold(t, a, retiredUpTo(2), everyone); g != nil {
		t.Fatal("two items for two", g)
	}
	if g := fold(t, a, retiredUpTo(4), func(d Dot) bool { return d.Origin != 3 }); g != nil {
		t.Fatal("one of them is not known to all", g)
	}
	if g := fold(t, a, retiredUpTo(3), everyone); len(g) != 1 || len(g[0].Removes) != 2 {
		t.Fatal(g)
	}
	wantCount(t, a.Store(), sum)
	if g := fold(t, a, retiredUpTo(4), func(d Dot) bool { return d.Origin != 5 }); g != nil {
		t.Fatal("the folded count is not known to all", g)
	}
	if g := fold(t, a, retiredUpTo(4), everyone); len(g) != 1 || len(g[0].Removes) != 2 {
		t.Fatal(g)
	}
	wantCount(t, a.Store(), sum)
}

// What is deleted while it is folded stays deleted, in whatever order both come.
func TestDeleteIsNotUndoneByAFold(t *testing.T) {
	a, b, _ := counted(t)
	f := fold(t, a, retiredUpTo(4), everyone)
	gone := mustUpdate(t, b, "c", func(tx *Tx) error { _, err := tx.RemoveAll(""); return err })
	mustApply(t, a.Store(), gone)
	mustApply(t, b.Store(), f)
	wantCount(t, a.Store(), 0)
	wantCount(t, b.Store(), 0)
	if a.Store().Digest() != b.Store().Digest() || a.Store().Len() != 1 {
		t.Fatal(a.Store(), b.Store())
	}
	for _, r := range []*Replica{a, b} {
		if !r.Store().View("c").Empty() || !r.Store().Peek("c").Empty() || r.Store().Snapshot().KeyCount() != 0 {
			t.Fatal("the folded count without an anchor is shown")
		}
	}
	increment(t, b, 7)
	wantCount(t, b.Store(), 7)
	for _, r := range []*Replica{a, b} {
		if gs := sweepAll(t, r); len(gs) != 1 {
			t.Fatal("the folded count without an anchor stays", r.Store())
		}
	}
	if g := fold(t, b, retiredUpTo(4), everyone); g != nil {
		t.Fatal(g)
	}
	wantCount(t, b.Store(), 7)
	if a.Store().Len() != 0 {
		t.Fatal(a.Store())
	}
}

// A PNCounter folds as a GCounter does, with balances of both signs.
func TestFoldOfBalances(t *testing.T) {
	count := func(r *Replica, n int64) Group {
		return mustUpdate(t, r, "c", Mutate[PNCounter](func(c *PNCounterTx) error { return c.Increment(n) }))
	}
	want := func(s *Store, want int64) {
		t.Helper()
		if c, err := ViewOf[PNCounter](s.View("c")); err != nil || c.Value() != want {
			t.Fatalf("%d, want %d: %v", c.Value(), want, err)
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	}
	a, b := NewReplica(5, StoreOptions{}), NewReplica(6, StoreOptions{})
	for o := Origin(1); o <= 4; o++ {
		g := count(NewReplica(o, StoreOptions{}), []int64{0, 7, -100, 20, 40}[o])
		mustApply(t, a.Store(), g)
		mustApply(t, b.Store(), g)
	}
	mustApply(t, b.Store(), count(a, -3))
	g := fold(t, a, retiredUpTo(4), everyone)
	if len(g) != 1 || a.Store().Len() != 3 {
		t.Fatalf("%v makes %v", g, a.Store())
	}
	want(a.Store(), -36)
	mustApply(t, a.Store(), count(b, 1))
	mustApply(t, b.Store(), g)
	want(a.Store(), -35)
	want(b.Store(), -35)
	gone := mustUpdate(t, b, "c", func(tx *Tx) error { _, err := tx.RemoveAll(""); return err })
	mustApply(t, b.Store(), count(a, 4))
	mustApply(t, a.Store(), gone)
	want(a.Store(), 1) // the -3 of the origin that counted at the same time, with its 4
	want(b.Store(), 1)
}

// What does not fit into one balance stays as it is.
func TestFoldDoesNotOverflow(t *testing.T) {
	a := NewReplica(5, StoreOptions{})
	for o := Origin(1); o <= 3; o++ {
		mustApply(t, a.Store(), mustUpdate(t, NewReplica(o, StoreOptions{}), "c",
			Mutate[PNCounter](func(c *PNCounterTx) error { return c.Increment(1 << 62) })))
	}
	for range 2 { // after the first it is too large by one still
		mustUpdate(t, a, "c", Mutate[PNCounter](func(c *PNCounterTx) error { return c.Decrement(1 << 62) }))
	}
	if g := fold(t, a, retiredUpTo(4), everyone); g != nil {
		t.Fatal(g)
	}
	if c, err := ViewOf[PNCounter](a.Store().View("c")); err != nil || c.Value() != 1<<62 {
		t.Fatal(c, err)
	}
}

// A walk over what a retired origin left, in slices, folds every counter that it has a part in.
func TestFoldOfWalksTheKeysOfAnOrigin(t *testing.T) {
	a := NewReplica(9, StoreOptions{})
	const keys = 40
	for o := Origin(1); o <= 3; o++ {
		r := NewReplica(o, StoreOptions{})
		for k := range keys {
			mustApply(t, a.Store(), mustUpdate(t, r, fmt.Sprint("k", k),
				Mutate[GCounter](func(c *GCounterTx) error { return c.Increment(uint64(o)) })))
			mustApply(t, a.Store(), add(t, r, "s", fmt.Sprint(o, k)))
		}
	}
	deleteForever(t, a, "k5")
	mustApply(t, a.Store(), mustUpdate(t, NewReplica(4, StoreOptions{}), "k5",
		Mutate[GCounter](func(c *GCounterTx) error { return c.Increment(1) })))
	groups, slices, next := 0, 0, uint64(0)
	for more := true; more; slices++ {
		gs, at, err := a.FoldOf(2, next, 7, retiredUpTo(4), everyone, nil)
		if err != nil {
			t.Fatal(err)
		}
		groups, next, more = groups+len(gs), at, at != 0
	}
	if groups != keys-1 || slices < 5 {
		t.Fatalf("%d groups in %d slices", groups, slices)
	}
	for k := range keys {
		key := fmt.Sprint("k", k)
		if c, err := ViewOf[GCounter](a.Store().View(key)); key != "k5" &&
			(err != nil || c.Value() != 6 || a.Store().View(key).Len() != 2) {
			t.Fatal(key, c, err)
		}
	}
	if err := a.Store().Check(); err != nil {
		t.Fatal(err)
	}
	if got := a.Store().Authors(); !reflect.DeepEqual(got, []Origin{1, 2, 3, 4, 9}) {
		t.Fatal(got)
	}
}

func TestCountPathsAreTakenApart(t *testing.T) {
	origin := "\x00\x00\x00\x00\x00\x00\x00\x07"
	for path, place := range map[string]string{
		"\x01" + origin: "\x01", "\x07" + origin: "\x07", "\x0dkey\x00\x01" + origin: "\x0dkey\x00\x01",
		"\x0d" + origin + origin: "\x0d" + origin,
	} {
		got, o, ok := countPath(path)
		if !ok || o != 7 || got != place {
			t.Errorf("%q: %q of %v, %v", path, got, o, ok)
		}
		if isFold(&Item{Dot: Dot{Origin: 7, Seq: 1}, Path: path}) ||
			!isFold(&Item{Dot: Dot{Origin: 8, Seq: 1}, Path: path}) {
			t.Errorf("%q: the dot tells a folded count from a count", path)
		}
	}
	for _, path := range []string{"", "\x01", "\x02" + origin, "\x01" + origin[1:],
		"\x01" + origin + "x", "\x0d" + origin,
		"\x0bkey\x00\x01/\x01" + origin} {
		if place, o, ok := countPath(path); ok || isFold(&Item{Dot: Dot{Origin: 8, Seq: 1}, Path: path}) {
			t.Errorf("%q is %q of %v", path, place, o)
		}
	}
}

// The keys of a PNCounterMap fold each for itself, and one that is removed while it is folded stays
// removed.
func TestFoldOfAMapOfCounters(t *testing.T) {
	count := func(r *Replica, k string, n int64) Group {
		return mustUpdate(t, r, "c", Mutate[PNCounterMap[string]](func(m *PNCounterMapTx[string]) error {
			return m.Increment(k, n)
		}))
	}
	a, b := NewReplica(5, StoreOptions{}), NewReplica(6, StoreOptions{})
	for o := Origin(1); o <= 4; o++ {
		r := NewReplica(o, StoreOptions{})
		for i, k := range []string{"x", "y", "few"} {
			if k == "few" && o > 2 {
				continue
			}
			g := count(r, k, int64(o)*[]int64{10, -1, 5}[i])
			mustApply(t, a.Store(), g)
			mustApply(t, b.Store(), g)
		}
	}
	mustApply(t, b.Store(), count(a, "x", 1))
	want := func(s *Store, want map[string]int64) {
		t.Helper()
		m, err := ViewOf[PNCounterMap[string]](s.View("c"))
		if got := maps.Collect(m.All()); err != nil || !maps.Equal(got, want) || m.Len() != len(want) {
			t.Fatalf("%v, want %v: %v", got, want, err)
		}
		if err := s.Check(); err != nil {
			t.Fatal(err)
		}
	}
	g := fold(t, a, retiredUpTo(4), everyone)
	if len(g) != 2 || a.Store().Len() != 3+2+2 {
		t.Fatalf("%v makes %v", g, a.Store())
	}
	all := map[string]int64{"x": 101, "y": -10, "few": 15}
	want(a.Store(), all)
	want(b.Store(), all)
	gone := mustUpdate(t, b, "c", Mutate[PNCounterMap[string]](func(m *PNCounterMapTx[string]) error {
		return m.Remove("y")
	}))
	mustApply(t, a.Store(), gone)
	mustApply(t, b.Store(), g)
	delete(all, "y")
	want(a.Store(), all)
	want(b.Store(), all)
	if a.Store().Digest() != b.Store().Digest() || a.Store().Len() != 6 {
		t.Fatal(a.Store(), b.Store())
	}
	sweepAll(t, a)
	want(a.Store(), all)
	if a.Store().Len() != 5 {
		t.Fatal(a.Store())
	}
}
