package proptest

import (
	"bytes"
	"slices"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/crdt"
)

// stateLaws holds what a history has reached, its replicas still apart, to the laws of states.
func (w *world) stateLaws() error {
	for _, l := range []func(*world) error{
		semilattice, anyOrder, decomposes, survivesTheWire, incremental, since, prefixes, trimmed, strangers,
	} {
		if err := l(w); err != nil {
			return err
		}
	}
	return nil
}

// semilattice is law 1: merge is commutative, associative and idempotent, and empty is its unit.
func semilattice(w *world) error {
	a, b, c := w.nodes[0].state(), w.nodes[1].state(), w.nodes[2].state()
	var failed error
	join := func(a, b state) state {
		s, err := w.join(a, b)
		if err != nil && failed == nil {
			failed = w.broken(mergesAgree, "a merge failed: %v\n%v\nwith\n%v", err, a, b)
		}
		return s
	}
	empty := state{clock: &crdt.Clock{}}
	for _, p := range []struct {
		what        string
		left, right state
	}{
		{"a ⊔ b and b ⊔ a", join(a, b), join(b, a)},
		{"(a ⊔ b) ⊔ c and a ⊔ (b ⊔ c)", join(join(a, b), c), join(a, join(b, c))},
		{"a ⊔ a and a", join(a, a), a},
		{"a ⊔ ∅ and a", join(a, empty), a},
		{"∅ ⊔ a and a", join(empty, a), a},
	} {
		if failed != nil {
			return failed
		}
		if err := w.same(mergesAgree, p.what, p.left, p.right); err != nil {
			return err
		}
	}
	return nil
}

// anyOrder is law 3 once more: all groups, in any order that their removals allow, with
// repetitions, make one state.
func anyOrder(w *world) error {
	if len(w.made) == 0 {
		return nil
	}
	var seen bits
	for id := range w.past.len() {
		seen = seen.set(id)
	}
	one, err := inOrder(w, rapid.Permutation(w.made).Draw(w.t, "an order"))
	if err != nil {
		return err
	}
	two, err := inOrder(w, rapid.Permutation(w.made).Draw(w.t, "another order"))
	if err != nil {
		return err
	}
	if err := w.same(groupsAreDeltas, "all groups in two orders", one, two); err != nil {
		return err
	}
	s := one.store()
	for _, key := range w.keys {
		got, err := w.valueAt(s.View(key))
		if want := w.past.reads(key, seen); err != nil || !alike(got, want) {
			return w.broken(groupsAreDeltas,
				"all groups read %s as\n  %+v (%v)\nand the model says\n  %+v", key, got, err, want)
		}
	}
	return nil
}

// inOrder applies groups over and over until none of them can be applied any more.
func inOrder(w *world, gs []crdt.Group) (state, error) {
	options := crdt.StoreOptions{DigestSeed: digestSeed}
	options.Plant(w.plant.defects)
	s := crdt.NewStore(options)
	for moved := true; moved; {
		moved = false
		for _, g := range gs {
			out, err := s.Apply(g, nil)
			if err != nil {
				return state{}, w.broken(groupsAreDeltas, "%v is refused: %v", g, err)
			}
			moved = moved || out == crdt.Applied
		}
	}
	if err := s.Check(); err != nil {
		return state{}, w.broken(groupsAreDeltas, "%v", err)
	}
	return snapState(s.Snapshot()), nil
}

// dotsMax bounds the dots of a state that is taken apart, whose cost grows with their square.
const dotsMax = 80

// decomposes is law 4: a state is the join of its single dots, and of no fewer.
func decomposes(w *world) error {
	s := w.nodes[0].state()
	var dots []crdt.Dot
	for r := range s.clock.Ranges() {
		for seq := r.First; seq <= r.Last; seq++ {
			dots = append(dots, crdt.Dot{Origin: r.Origin, Seq: seq})
		}
	}
	if len(dots) == 0 || len(dots) > dotsMax {
		return nil
	}
	sum, less := state{clock: &crdt.Clock{}}, state{clock: &crdt.Clock{}}
	for i, d := range rapid.Permutation(dots).Draw(w.t, "dots") {
		one := state{clock: &crdt.Clock{}}
		one.clock.Add(d)
		if k := slices.IndexFunc(s.items, func(it crdt.Item) bool { return it.Dot == d }); k >= 0 {
			one.items = s.items[k : k+1]
		}
		var err error
		if sum, err = w.join(sum, one); err != nil {
			return w.broken(statesDecompose, "%v", err)
		}
		if i > 0 {
			if less, err = w.join(less, one); err != nil {
				return w.broken(statesDecompose, "%v", err)
			}
		}
	}
	if less.equal(s) {
		return w.broken(statesDecompose, "one dot is redundant in\n%v", s)
	}
	return w.same(statesDecompose, "the join of all dots and the whole", sum, s)
}

// survivesTheWire is law 6 on a state that was reached: what is encoded comes back, in the same
// bytes, and reads the same.
func survivesTheWire(w *world) error {
	s := w.nodes[0].state()
	raw := s.clock.Append(nil)
	clock, err := crdt.DecodeClock(raw)
	if err != nil || !clock.Equal(s.clock) || !bytes.Equal(raw, clock.Append(nil)) {
		return w.broken(encodingsComeBack, "clock %v comes back as %v (%v)", s.clock, clock, err)
	}
	items, err := w.plant.items(s.items)
	if err != nil || !slices.Equal(items, s.items) {
		return w.broken(encodingsComeBack, "items come back as (%v)\n%v\nand were\n%v", err, state{clock, items}, s)
	}
	raw = crdt.AppendItems(nil, pointers(s.items))
	if !bytes.Equal(raw, crdt.AppendItems(nil, pointers(items))) {
		return w.broken(encodingsComeBack, "items have two encodings:\n%v", s)
	}
	for i := range s.items {
		back, err := crdt.DecodeItem(crdt.AppendItem(nil, &s.items[i]), s.items[0].Key)
		if err != nil || back != s.items[i] {
			return w.broken(encodingsComeBack, "item %v comes back as %v (%v)", &s.items[i], &back, err)
		}
	}
	for _, g := range w.made {
		raw := crdt.AppendGroup(nil, g)
		if back, err := w.plant.group(g); err != nil || !bytes.Equal(raw, crdt.AppendGroup(nil, back)) {
			return w.broken(encodingsComeBack, "group %v comes back as %v (%v)", g, back, err)
		}
	}
	return w.sameValues(encodingsComeBack, "a state and what came over the wire", s, state{clock, items})
}

// incremental is law 7: the digest that is kept is the one that is computed, whatever the order of
// the items.
func incremental(w *world) error {
	n := w.nodes[0]
	s := n.state()
	var sum crdt.Digest
	for _, i := range rapid.Permutation(indexes(len(s.items))).Draw(w.t, "items") {
		sum = sum.Plus(n.rep.Store().Hash(&s.items[i]))
	}
	if got := w.plant.digest(n.rep.Store()); got != sum {
		return w.broken(digestsAgree, "%s keeps digest %v, its items sum to %v:\n%v", w.nameOf(n), got, sum, s)
	}
	return nil
}

func indexes(n int) []int {
	is := make([]int, n)
	for i := range is {
		is[i] = i
	}
	return is
}

// since is law 9, and the minimality of law 4: what Missing returns makes the full merge, is empty
// when clocks are equal, and names nothing that is known.
func since(w *world) error {
	from, to := w.nodes[0], w.nodes[1]
	a, b := from.rep.Store(), to.rep.Store()
	if gs, more, covered := w.plant.missing(a, a.Clock(), 0); len(gs) > 0 || more || !covered {
		return w.broken(logsShipDifferences, "%s lacks something of its own: %v, %v, %v",
			w.nameOf(from), gs, more, covered)
	}
	gs, more, covered := w.plant.missing(a, b.Clock(), 1<<30)
	if covered != b.Clock().Includes(a.Floor()) || more {
		return w.broken(logsShipDifferences, "the log of %s for %s: covered %v, more %v",
			w.nameOf(from), w.nameOf(to), covered, more)
	}
	if !covered {
		return nil
	}
	sa, sb := from.state(), to.state()
	s := sb.store()
	for _, g := range gs {
		if !slices.ContainsFunc(g, func(e crdt.Event) bool { return !b.Clock().Has(e.Dot) }) {
			return w.broken(logsShipDifferences, "%s ships %s, which %s has", w.nameOf(from), w.dots(g), w.nameOf(to))
		}
		if out, err := s.Apply(g, nil); out != crdt.Applied || err != nil {
			return w.broken(logsShipDifferences, "%s ships %s to %s, which is %v there (%v)",
				w.nameOf(from), w.dots(g), w.nameOf(to), out, err)
		}
	}
	sum, err := w.join(sb, sa)
	if err != nil {
		return w.broken(logsShipDifferences, "%v", err)
	}
	return w.same(logsShipDifferences, "what the log ships, and the merge", snapState(s.Snapshot()), sum)
}

// trimmed is law 8. What is pruned here is the log: that changes neither state nor value, it merges
// as before, and an old copy that is merged afterwards changes nothing.
func trimmed(w *world) error {
	n := w.nodes[2]
	before := n.state()
	w.plant.trim(n.rep, n.rep.Store().Clock().Clone())
	w.tell("%s trims all of its log", w.nameOf(n))
	if err := w.same(trimmingChangesNothing, "before and after trimming", before, n.state()); err != nil {
		return err
	}
	if n.rep.Store().LogLen() > 0 || !n.rep.Store().Floor().Equal(n.rep.Store().Clock()) {
		return w.broken(trimmingChangesNothing, "trimmed of all, %s keeps %d events and the floor %v",
			w.nameOf(n), n.rep.Store().LogLen(),
			n.rep.Store().Floor())
	}
	for _, o := range w.nodes {
		for _, p := range o.pins {
			if !before.clock.Includes(p.state.clock) {
				continue
			}
			if err := w.plant.merge(n.rep, p.state.clock, p.state.live, p.state.items, nil); err != nil {
				return w.broken(trimmingChangesNothing, "an old copy of %s is refused: %v", o.name, err)
			}
			if err := w.same(trimmingChangesNothing,
				"before and after the merge of an old copy of "+o.name, before, n.state()); err != nil {
				return err
			}
		}
	}
	return w.check(n)
}
