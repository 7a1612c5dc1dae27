package crdt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func rapidPick(t *rapid.T) func(int) int {
	return func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "pick") }
}

func seededPick(seed uint64) func(int) int {
	rng := rand.New(rand.NewPCG(seed, 0x5eed))
	return rng.IntN
}

// runWorld runs a random history and settles it.
func runWorld(pick func(int) int, steps int, faults Faults) (*world, error) {
	w := newWorld(pick, faults)
	for i := range steps {
		if err := w.step(); err != nil {
			return w, fmt.Errorf("step %d: %w", i, err)
		}
	}
	return w, w.settle()
}

func TestHistoriesReadWhatTheSpecificationSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if _, err := runWorld(rapidPick(t), rapid.IntRange(1, 60).Draw(t, "steps"), Faults{}); err != nil {
			t.Fatal(err)
		}
	})
}

// TestLongHistories runs fewer and longer ones, in which keys grow from slices to trees.
func TestLongHistories(t *testing.T) {
	for seed := range uint64(12) {
		if _, err := runWorld(seededPick(seed), 400, Faults{}); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

// TestHistoriesNoticePlantedFaults proves that the histories above are worth something.
func TestHistoriesNoticePlantedFaults(t *testing.T) {
	for name, faults := range map[string]Faults{
		"DropLosingSibling":      {DropLosingSibling: true},
		"BareFactWithoutRemover": {BareFactWithoutRemover: true},
		"ClockBeforeItems":       {ClockBeforeItems: true},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(200) {
				if _, err := runWorld(seededPick(seed), 60, faults); err != nil {
					t.Logf("seed %d: %v", seed, err)
					return
				}
			}
			t.Fatal("no history noticed the fault")
		})
	}
}

// state is a replica's state as a value of the lattice.
type state struct {
	clock *Clock
	items []Item
}

func stateOf(s *Store) state { return state{clock: s.Clock().Clone(), items: itemsOf(s.Snapshot())} }

func (a state) store(t *rapid.T) *Store {
	s := NewStore(StoreOptions{DigestSeed: 7})
	var sum Digest
	for i := range a.items {
		sum = sum.Plus(HashItem(7, &a.items[i]))
	}
	if err := s.Load(a.clock, sum, asRows(a.items, nil)); err != nil {
		t.Fatal(err)
	}
	return s
}

func (a state) live(d Dot) bool {
	return slices.ContainsFunc(a.items, func(it Item) bool { return it.Dot == d })
}

func (a state) join(t *rapid.T, b state) state {
	s := a.store(t)
	if err := s.Merge(b.clock, b.live, b.items, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	return stateOf(s)
}

func (a state) equal(b state) bool { return a.clock.Equal(b.clock) && slices.Equal(a.items, b.items) }

func mustEqual(t *rapid.T, law string, a, b state) {
	t.Helper()
	if !a.equal(b) {
		t.Fatalf("%s:\n%v %v\n%v %v", law, a.clock, a.items, b.clock, b.items)
	}
}

// unsettled returns the world after a random history, its replicas still apart.
func unsettled(t *rapid.T) *world {
	w := newWorld(rapidPick(t), Faults{})
	for range rapid.IntRange(1, 40).Draw(t, "steps") {
		if err := w.step(); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// Law 1: merge is commutative, associative and idempotent, and empty is its unit.
func TestMergeIsASemilattice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := unsettled(t)
		a, b, c := stateOf(w.nodes[0].rep.Store()), stateOf(w.nodes[1].rep.Store()), stateOf(w.nodes[2].rep.Store())
		empty := state{clock: &Clock{}}
		mustEqual(t, "commutative", a.join(t, b), b.join(t, a))
		mustEqual(t, "associative", a.join(t, b).join(t, c), a.join(t, b.join(t, c)))
		mustEqual(t, "idempotent", a.join(t, a), a)
		mustEqual(t, "unit", a.join(t, empty), a)
		mustEqual(t, "unit", empty.join(t, a), a)
	})
}

// Law 3: an update's group, applied to the state before, makes the state after; so does the merge of both; and groups applied in any
// order that their removals allow, with duplicates, make the same state.
func TestGroupsAreDeltas(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(rapidPick(t), Faults{})
		for range rapid.IntRange(1, 30).Draw(t, "updates") {
			i := w.pick(len(w.nodes))
			n := w.nodes[i]
			before, flying := stateOf(n.rep.Store()), len(w.flying)
			if err := w.update(i); err != nil {
				t.Fatal(err)
			}
			after := stateOf(n.rep.Store())
			if len(w.flying) > flying {
				s := before.store(t)
				if out, err := s.Apply(w.flying[flying].group, nil); out != Applied || err != nil {
					t.Fatal(out, err)
				}
				mustEqual(t, "delta", stateOf(s), after)
			}
			mustEqual(t, "inflation", before.join(t, after), after)
			if err := w.deliver(); err != nil {
				t.Fatal(err)
			}
		}
		groups := map[Dot]Group{}
		var order []Group
		for _, f := range w.flying {
			if groups[f.group.First()] == nil {
				groups[f.group.First()] = f.group
				order = append(order, f.group)
			}
		}
		mustEqual(t, "any order", applyAnyOrder(t, rapid.Permutation(order).Draw(t, "one")), applyAnyOrder(t, rapid.Permutation(order).Draw(t, "two")))
	})
}

// applyAnyOrder applies groups over and over until none of them can be applied any more.
func applyAnyOrder(t *rapid.T, gs []Group) state {
	s := NewStore(StoreOptions{DigestSeed: 7})
	for moved := true; moved; {
		moved = false
		for _, g := range gs {
			out, err := s.Apply(g, nil)
			if err != nil {
				t.Fatal(err)
			}
			moved = moved || out == Applied
		}
	}
	if err := s.Check(); err != nil {
		t.Fatal(err)
	}
	return stateOf(s)
}

// Law 4: a state is the join of its single dots, and of no fewer.
func TestStatesDecompose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := stateOf(unsettled(t).nodes[0].rep.Store())
		var dots []Dot
		for r := range s.clock.Ranges() {
			for seq := r.First; seq <= r.Last; seq++ {
				dots = append(dots, Dot{r.Origin, seq})
			}
		}
		sum, less := state{clock: &Clock{}}, state{clock: &Clock{}}
		for i, d := range rapid.Permutation(dots).Draw(t, "order") {
			one := state{clock: &Clock{}}
			one.clock.Add(d)
			if k := slices.IndexFunc(s.items, func(it Item) bool { return it.Dot == d }); k >= 0 {
				one.items = s.items[k : k+1]
			}
			sum = sum.join(t, one)
			if i > 0 {
				less = less.join(t, one)
			}
		}
		mustEqual(t, "decomposition", sum, s)
		if len(dots) > 0 && less.equal(s) {
			t.Fatal("a dot is redundant")
		}
	})
}

// Law 9 and the minimality of law 4: what Missing returns makes the full merge, is empty when clocks are equal, and names nothing that is known.
func TestMissingIsTheDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := unsettled(t)
		a, b := w.nodes[0].rep.Store(), w.nodes[1].rep.Store()
		if gs, more, covered := a.Missing(a.Clock(), 0); len(gs) > 0 || more || !covered {
			t.Fatal("a store misses something of its own", gs, more, covered)
		}
		sa, sb := stateOf(a), stateOf(b)
		gs, more, covered := a.Missing(b.Clock(), 1<<30)
		if covered != b.Clock().Includes(a.Floor()) || more {
			t.Fatal(covered, more)
		}
		if !covered {
			return
		}
		to := sb.store(t)
		for _, g := range gs {
			if b.Clock().HasAll(dotsOfGroup(g)) {
				t.Fatal("ships what is known", g)
			}
			if out, err := to.Apply(g, nil); out != Applied || err != nil {
				t.Fatal(out, err)
			}
		}
		mustEqual(t, "delta since", stateOf(to), sb.join(t, sa))
	})
}

// Law 6 on reachable states: what is encoded comes back, and encodes to the same bytes.
func TestStatesSurviveTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := unsettled(t)
		for _, n := range w.nodes {
			snap := n.rep.Store().Snapshot()
			raw := AppendClock(nil, snap.Clock())
			if c, err := DecodeClock(raw); err != nil || !c.Equal(snap.Clock()) || !slices.Equal(raw, AppendClock(nil, c)) {
				t.Fatal(c, err)
			}
			items := slices.Collect(snap.Items())
			back, err := DecodeItems(AppendItems(nil, items))
			if err != nil || !slices.Equal(back, itemsOf(snap)) {
				t.Fatal(back, err)
			}
			for _, it := range items {
				if back, err := DecodeItem(AppendItem(nil, it)); err != nil || back != *it {
					t.Fatal(back, err)
				}
			}
		}
		for _, f := range w.flying {
			raw := AppendGroup(nil, f.group)
			if g, err := DecodeGroup(raw); err != nil || !slices.Equal(raw, AppendGroup(nil, g)) {
				t.Fatal(g, err)
			}
		}
	})
}

// Law 11: adding and removing one element for ever leaves nothing but a clock of one interval.
func TestMetadataOfAddRemovePairsIsConstant(t *testing.T) {
	r := NewReplica(1, StoreOptions{})
	for range 10_000 {
		mustUpdate(t, r, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Add("e") }))
		mustUpdate(t, r, "s", Mutate[ORSet[string]](func(s *ORSetTx[string]) error { return s.Remove("e") }))
	}
	st := r.Store()
	st.Trim(st.Clock().Clone())
	snap := st.Snapshot()
	if n := len(AppendClock(nil, st.Clock())); n > 8 || st.LogLen() != 0 || snap.Len() != 0 || snap.KeyCount() != 0 || len(st.index.rows) != 0 {
		t.Fatalf("clock of %d bytes, %v", n, st)
	}
	if st.log.groups.len() != 0 || len(st.log.origins) != 0 || st.Digest() != (Digest{}) {
		t.Fatalf("left over: %v", st)
	}
	if err := st.Check(); err != nil {
		t.Fatal(err)
	}
}
