package crdt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/defect"
)

func addOwn(t testing.TB, r *Replica, key string, es ...string) Group {
	t.Helper()
	return mustUpdate(t, r, key, Mutate[NodeSet[string]](func(s *NodeSetTx[string]) error {
		for _, e := range es {
			if err := s.Add(e); err != nil {
				return err
			}
		}
		return nil
	}))
}

func nodeSet(t testing.TB, s *Store, key string) []string {
	t.Helper()
	v, err := ViewOf[NodeSet[string]](s.View(key))
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Collect(v.All())
	if v.Len() != len(all) {
		t.Fatalf("%d elements %q", v.Len(), all)
	}
	for _, e := range all {
		if !v.Contains(e) {
			t.Fatalf("%q is yielded and not contained", e)
		}
	}
	return all
}

func wantSet(t testing.TB, s *Store, key string, want ...string) {
	t.Helper()
	if got := nodeSet(t, s, key); !slices.Equal(got, want) {
		t.Fatalf("%q, want %q", got, want)
	}
}

// R8: what belongs to a removed node is hidden at once, and no item changes by it.
func TestElementsVanishWithTheirNode(t *testing.T) {
	holdsUnless(t, defect.Of(defect.ShowRemoved), func(t *testing.T, f defect.Set) bool {
		a, b := NewReplica(1, StoreOptions{planted: f}), NewReplica(2, StoreOptions{})
		both := addOwn(t, b, "s", "mine", "ours")
		if _, err := a.Apply(both, nil); err != nil {
			t.Fatal(err)
		}
		addOwn(t, a, "s", "ours", "own")
		wantSet(t, a.Store(), "s", "mine", "ours", "own")
		digest, old := a.Store().Digest(), a.Store().Snapshot()
		var ch Changes
		a.SetLiving(NewLiving(1, 3), &ch)
		if !slices.Equal(ch.Keys, []string{"s"}) || len(ch.Put)+len(ch.Dropped) > 0 ||
			a.Store().Digest() != digest || a.Store().Len() != 4 {
			t.Fatalf("changes %+v, %v", ch, a.Store())
		}
		if v, err := ViewOf[NodeSet[string]](old.View("s")); err != nil || v.Len() != 3 {
			t.Fatal("a snapshot changed", v.Len(), err)
		}
		return slices.Equal(nodeSet(t, a.Store(), "s"), []string{"ours", "own"})
	})
}

func TestLateEventsOfARemovedNodeAreHiddenAndSwept(t *testing.T) {
	a, b, c := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{}), NewReplica(3, StoreOptions{})
	early, late := addOwn(t, b, "s", "early"), addOwn(t, b, "s", "late")
	a.SetLiving(NewLiving(1, 3), nil)
	var ch Changes
	for _, g := range []Group{late, early} {
		if out, err := a.Apply(g, &ch); out != Applied || err != nil {
			t.Fatal(out, err)
		}
	}
	if len(ch.Put) != 2 || len(ch.Keys) != 0 {
		t.Fatalf("readers are told of what they are not shown: %q, %d items", ch.Keys, len(ch.Put))
	}
	wantSet(t, a.Store(), "s")
	if !a.Store().View("s").Empty() || a.Store().Snapshot().KeyCount() != 0 ||
		len(slices.Collect(a.Store().Snapshot().Keys(""))) != 0 {
		t.Fatal("a key of which all is hidden is shown")
	}
	if !a.Store().Peek("s").Empty() || !a.Store().Littered() {
		t.Fatal(a.Store())
	}
	g := sweepAll(t, a)
	if a.Store().Len() != 0 || len(g) != 1 {
		t.Fatalf("after %d groups: %v", len(g), a.Store())
	}
	mustApply(t, c.Store(), early, late)
	mustApply(t, c.Store(), g...)
	if !c.Store().Clock().Equal(a.Store().Clock()) || c.Store().Digest() != a.Store().Digest() {
		t.Fatalf("%v\n%v", a.Store(), c.Store())
	}
}

func sweepAll(t testing.TB, r *Replica) (gs []Group) {
	t.Helper()
	for i := 0; ; i++ {
		g, more, err := r.Sweep(3, nil)
		if err != nil || i > 10_000 {
			t.Fatal("the sweep does not end", err)
		}
		if g != nil {
			gs = append(gs, g)
		}
		if err := r.Store().Check(); err != nil {
			t.Fatal(err)
		}
		if !more {
			return gs
		}
	}
}

// What a node adds stays whatever others do with the same element, and its own removal takes
// nothing of theirs.
func TestNodesChangeOnlyWhatIsTheirs(t *testing.T) {
	a, b := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{})
	mustApply(t, a.Store(), addOwn(t, b, "s", "x", "y"))
	addOwn(t, a, "s", "x")
	change := func(fn func(*NodeSetTx[string]) error) {
		t.Helper()
		mustUpdate(t, a, "s", Mutate[NodeSet[string]](fn))
	}
	change(func(s *NodeSetTx[string]) error {
		if !s.Owns("x") || s.Owns("y") || !s.Contains("y") || s.Len() != 2 || len(slices.Collect(s.All())) != 2 {
			t.Error("the transaction reads something else")
		}
		return errors.Join(s.Remove("x"), s.Remove("y"), s.Remove("z"))
	})
	wantSet(t, a.Store(), "s", "x", "y")
	addOwn(t, a, "s", "z", "x")
	v, _ := ViewOf[NodeSet[string]](a.Store().View("s"))
	if got := slices.Collect(v.Owners("x")); !slices.Equal(got, []Origin{1, 2}) {
		t.Fatal(got)
	}
	if got := slices.Collect(v.Of(1)); !slices.Equal(got, []string{"x", "z"}) {
		t.Fatal(got)
	}
	change(func(s *NodeSetTx[string]) error { return s.Clear() })
	wantSet(t, a.Store(), "s", "x", "y")
}

func TestNodeOwnedTypesAreRefusedInMaps(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	_, err := r.Update("k", 0, func(tx *Tx) error { return NodeSet[string]{}.Mutator(tx.Under("p")).Add("x") }, nil)
	if !errors.Is(err, ErrNested) {
		t.Fatal(err)
	}
	_, err = r.Update("k", 0, func(tx *Tx) error {
		return NodeMap[string, int]{}.Mutator(tx.Under("p")).Put("x", 1)
	}, nil)
	if !errors.Is(err, ErrNested) {
		t.Fatal(err)
	}
	if _, err := (NodeSet[string]{}).View(r.Store().View("k").Under("p")); !errors.Is(err, ErrNested) {
		t.Fatal(err)
	}
	if _, err := (NodeMap[string, int]{}).View(r.Store().View("k").Under("p")); !errors.Is(err, ErrNested) {
		t.Fatal(err)
	}
}

func TestNodeMapShowsTheLastWriterAmongTheLiving(t *testing.T) {
	a, b := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{})
	put := func(r *Replica, wall int64, k string, v int) Group {
		t.Helper()
		g, err := r.Update("m", wall, Mutate[NodeMap[string,
			int]](func(m *NodeMapTx[string, int]) error { return m.Put(k, v) }), nil)
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	put(a, 10, "k", 1)
	put(a, 10, "only a", 5)
	mustApply(t, a.Store(), put(b, 20, "k", 2), put(b, 20, "only b", 6))
	read := func() map[string]int {
		v, err := ViewOf[NodeMap[string, int]](a.Store().View("m"))
		if err != nil {
			t.Fatal(err)
		}
		all := maps.Collect(v.All())
		for k, x := range all {
			if y, ok := v.Get(k); !ok || x != y {
				t.Fatalf("%q is %d or %d", k, x, y)
			}
		}
		if v.Len() != len(all) {
			t.Fatal(v.Len(), all)
		}
		return all
	}
	if got := read(); !maps.Equal(got, map[string]int{"k": 2, "only a": 5, "only b": 6}) {
		t.Fatal(got)
	}
	v, _ := ViewOf[NodeMap[string, int]](a.Store().View("m"))
	if got := maps.Collect(v.Each("k")); !maps.Equal(got, map[Origin]int{1: 1, 2: 2}) {
		t.Fatal(got)
	}
	if got := maps.Collect(v.Of(2)); !maps.Equal(got, map[string]int{"k": 2, "only b": 6}) {
		t.Fatal(got)
	}
	a.SetLiving(NewLiving(1), nil)
	if got := read(); !maps.Equal(got, map[string]int{"k": 1, "only a": 5}) {
		t.Fatal(got)
	}
	a.SetLiving(NewLiving(2), nil)
	mustUpdate(t, a, "m", Mutate[NodeMap[string, int]](func(m *NodeMapTx[string, int]) error {
		if x, ok := m.Own("k"); !ok || x != 1 {
			t.Error("own", x, ok)
		}
		if x, ok := m.Get("k"); !ok || x != 2 {
			t.Error("of the living", x, ok)
		}
		return errors.Join(m.Remove("k"), m.Remove("only b"), m.Clear())
	}))
	if got := read(); !maps.Equal(got, map[string]int{"k": 2, "only b": 6}) || a.Store().Len() != 2 {
		t.Fatal(got, a.Store())
	}
}

// Every way to read a key agrees on what is shown, whichever origins live, for slices and for
// trees.
func TestReadersAgreeOnWhatIsShown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := NewStore(StoreOptions{DigestSeed: 7})
		elems := rapid.SampledFrom([]int{2, 3 * keySmallMax}).Draw(t, "elems")
		reps := []*Replica{NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{}), NewReplica(3, StoreOptions{})}
		owned := map[string]map[Origin]bool{}
		living := NewLiving(1, 2, 3)
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			r := reps[rapid.IntRange(0, 2).Draw(t, "replica")]
			if rapid.IntRange(0, 7).Draw(t, "view") == 0 {
				var alive []Origin
				for o := Origin(1); o <= 3; o++ {
					if rapid.Bool().Draw(t, "lives") {
						alive = append(alive, o)
					}
				}
				living = NewLiving(alive...)
				st.SetLiving(living, nil)
			} else {
				e := strconv.Itoa(rapid.IntRange(0, elems-1).Draw(t, "elem"))
				add := rapid.IntRange(0, 3).Draw(t, "add") > 0
				g, err := r.Update("s", 0, Mutate[NodeSet[string]](func(s *NodeSetTx[string]) error {
					if add {
						return s.Add(e)
					}
					return s.Remove(e)
				}), nil)
				if err != nil {
					t.Fatal(err)
				}
				if g == nil {
					continue
				}
				if out, err := st.Apply(g, nil); out != Applied || err != nil {
					t.Fatal(out, err)
				}
				if owned[e] == nil {
					owned[e] = map[Origin]bool{}
				}
				owned[e][r.Origin()] = add
			}
			if err := st.Check(); err != nil {
				t.Fatal(err)
			}
			if err := agree(st, owned, living); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// agree compares all readings of a key with what is known of it.
func agree(st *Store, owned map[string]map[Origin]bool, living *Living) error {
	var want []string
	items := 0
	for e, owners := range owned {
		n := 0
		for o, has := range owners {
			if has && living.Has(o) {
				n++
			}
		}
		if n > 0 {
			want = append(want, e)
		}
		items += n
		path := "\x10" + e
		if r := st.View("s"); r.Has(path) != (n > 0) || len(r.At(path)) != n {
			return fmt.Errorf("%q of %d: has %v, at %v", e, n, r.Has(path), r.At(path))
		}
	}
	slices.Sort(want)
	for _, r := range []Reader{st.View("s"), st.Snapshot().View("s")} {
		v, err := ViewOf[NodeSet[string]](r)
		if err != nil {
			return err
		}
		first := r.First()
		switch {
		case !slices.Equal(slices.Collect(v.All()), want), v.Len() != len(want),
			r.Len() != items, r.Paths() != len(want):
			return fmt.Errorf("%q, %d elements, %d items; want %q of %d",
				slices.Collect(v.All()), v.Len(), r.Len(), want, items)
		case r.Empty() != (len(want) == 0), (first == nil) != (len(want) == 0),
			first != nil && first.Path[1:] != want[0]:
			return fmt.Errorf("empty %v, first %v, want %q", r.Empty(), first, want)
		case r.Under(KindNodeSet.Path()).Paths() != len(want):
			return fmt.Errorf("%d paths below the kind's, want %q", r.Under(KindNodeSet.Path()).Paths(), want)
		}
	}
	if n := st.Snapshot().KeyCount(); (n > 0) != (len(want) > 0) {
		return fmt.Errorf("%d keys, %q shown", n, want)
	}
	return nil
}

// A key of which nothing is shown may be used for another type; beside something that is shown it
// may not.
func TestWhatIsHiddenAloneClashesWithNothing(t *testing.T) {
	a, b := NewReplica(1, StoreOptions{}), NewReplica(2, StoreOptions{})
	mustApply(t, a.Store(), addOwn(t, b, "s", "x"))
	set := Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add("e") })
	if _, err := a.Update("s", 0, set, nil); !errors.Is(err, ErrTypeClash) {
		t.Fatal(err)
	}
	a.SetLiving(NewLiving(1), nil)
	mustUpdate(t, a, "s", set)
}
