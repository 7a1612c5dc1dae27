package crdt

import (
	"errors"
	"fmt"
	"slices"
)

// world runs replicas against the specification: updates, a network that loses, duplicates and reorders groups, gaps filled from logs, merges,
// trimming, restarts from rows. After every step the replica that moved is compared with what the specification says it must read.
type world struct {
	pick   func(n int) int // the source of all choices: 0 <= pick(n) < n
	faults Faults
	nodes  []*worldNode
	flying []flight
	ops    int
	wall   int64
	born   uint64          // origins given out
	byDot  map[Dot]*specOp // every operation, by the event that it made
}

type worldNode struct {
	rep  *Replica
	seen specSet
	rows map[Dot]Item // what Changes would have made a disk hold
	pins []pin
}

// pin is a snapshot and what it held when it was taken.
type pin struct {
	snap  *Snapshot
	items []Item
}

type flight struct {
	to    int
	group Group
}

func newWorld(pick func(int) int, faults Faults) *world {
	w := &world{pick: pick, faults: faults, byDot: map[Dot]*specOp{}}
	for range 3 + pick(2) {
		w.nodes = append(w.nodes, &worldNode{rep: w.newReplica(), seen: specSet{}, rows: map[Dot]Item{}})
	}
	return w
}

func (w *world) newReplica() *Replica {
	w.born++
	return NewReplica(Origin(w.born*0x9e3779b97f4a7c15), StoreOptions{DigestSeed: 7, LogMax: 8 + w.pick(40), Faults: w.faults})
}

// step does one random thing.
func (w *world) step() error {
	i := w.pick(len(w.nodes))
	n := w.nodes[i]
	switch k := w.pick(20); {
	case k < 9:
		if err := w.update(i); err != nil {
			return err
		}
	case k < 14:
		return w.deliver()
	case k < 16:
		return w.fill(n, w.nodes[w.pick(len(w.nodes))])
	case k == 16:
		return w.merge(n, w.nodes[w.pick(len(w.nodes))])
	case k == 17:
		w.trim(n)
	case k == 18:
		n.pin()
	default:
		if err := w.restart(n); err != nil {
			return err
		}
	}
	return w.check(n)
}

func (n *worldNode) pin() {
	snap := n.rep.Store().Snapshot()
	n.pins = append(n.pins, pin{snap: snap, items: itemsOf(snap)})
}

func itemsOf(s *Snapshot) []Item {
	var items []Item
	for it := range s.Items() {
		items = append(items, *it)
	}
	return items
}

// trim drops what everyone has; now and then everything, as a replica does whose peers are gone.
func (w *world) trim(n *worldNode) {
	stable := n.rep.Store().Clock().Clone()
	if w.pick(4) > 0 {
		for _, o := range w.nodes {
			stable = stable.Minus(stable.Minus(o.rep.Store().Clock()))
		}
	}
	n.rep.Trim(stable)
}

// restart drops the replica and loads the rows into a new incarnation.
func (w *world) restart(n *worldNode) error {
	rep := w.newReplica()
	old := n.rep.Store()
	err := rep.Load(old.Clock(), old.Digest(), func(yield func(Item, error) bool) {
		for _, it := range n.rows {
			if !yield(it, nil) {
				return
			}
		}
	})
	n.rep = rep
	return err
}

// deliver takes one group from the network, out of order, and loses it, keeps a duplicate, or applies it.
func (w *world) deliver() error {
	if len(w.flying) == 0 {
		return nil
	}
	k := w.pick(len(w.flying))
	f := w.flying[k]
	fate := w.pick(8)
	if fate != 1 {
		w.flying = slices.Delete(w.flying, k, k+1)
	}
	if fate == 0 {
		return nil
	}
	g, err := DecodeGroup(AppendGroup(nil, f.group))
	if err != nil {
		return err
	}
	_, err = w.apply(w.nodes[f.to], g)
	if err != nil {
		return err
	}
	return w.check(w.nodes[f.to])
}

// apply applies a group and tells the specification which operations it was.
func (w *world) apply(n *worldNode, g Group) (Outcome, error) {
	var ch Changes
	known := n.rep.Store().Clock().HasAll(dotsOfGroup(g))
	out, err := n.rep.Apply(g, &ch)
	if err != nil {
		return out, err
	}
	if (out == Duplicate) != known || (out == Waiting) != (len(ch.Missing) > 0) {
		return out, fmt.Errorf("apply answered %v, known %v, missing %v", out, known, ch.Missing)
	}
	if out == Applied {
		for i := range g {
			op := w.byDot[g[i].Dot]
			n.seen[op.id] = op
		}
	}
	return out, n.store(&ch)
}

func dotsOfGroup(g Group) []Dot {
	var ds []Dot
	for i := range g {
		ds = append(ds, g[i].Dot)
	}
	return ds
}

// store carries changes out on the rows.
func (n *worldNode) store(ch *Changes) error {
	for _, it := range ch.Put {
		n.rows[it.Dot] = *it
	}
	for _, it := range ch.Dropped {
		if n.rows[it.Dot] != *it {
			return fmt.Errorf("dropped %v, the row is %v", it, n.rows[it.Dot])
		}
		delete(n.rows, it.Dot)
	}
	return nil
}

// fill sends what to lacks from the log of from, in small frames of which the later ones can get lost; a log that does not reach back means a merge.
func (w *world) fill(to, from *worldNode) error {
	src := from.rep.Store()
	for {
		gs, more, covered := src.Missing(to.rep.Store().Clock(), 1+w.pick(200))
		if !covered {
			return w.merge(to, from)
		}
		for _, g := range gs {
			out, err := w.apply(to, g)
			if err != nil {
				return err
			}
			if out != Applied {
				return fmt.Errorf("a group of Missing was %v: %v", out, g)
			}
		}
		if err := w.check(to); err != nil {
			return err
		}
		if !more || w.pick(4) == 0 {
			return nil
		}
	}
}

// merge joins the state of from: by the whole, or by the difference that a reconciliation would find.
func (w *world) merge(to, from *worldNode) error {
	snap := from.rep.Store().Snapshot()
	var items []Item
	for it := range snap.Items() {
		if w.pick(2) == 0 || !to.rep.Store().Clock().Has(it.Dot) {
			items = append(items, *it)
		}
	}
	ptrs := make([]*Item, len(items))
	for i := range items {
		ptrs[i] = &items[i]
	}
	items, err := DecodeItems(AppendItems(nil, ptrs))
	if err != nil {
		return err
	}
	var ch Changes
	if w.pick(2) == 0 {
		err = to.rep.Merge(snap.Clock(), snap.Live, items, &ch)
	} else {
		var absent []Dot
		for it := range to.rep.Store().Snapshot().Items() {
			if !snap.Live(it.Dot) {
				absent = append(absent, it.Dot)
			}
		}
		err = to.rep.MergeDiff(snap.Clock(), absent, items, &ch)
	}
	if err != nil {
		return err
	}
	to.seen.join(from.seen)
	if err := to.store(&ch); err != nil {
		return err
	}
	return w.check(to)
}

// settle lets everyone learn everything, first by logs and then by merges, and demands that all are equal.
func (w *world) settle() error {
	for range 2 {
		for _, to := range w.nodes {
			for _, from := range w.nodes {
				if err := w.fill(to, from); err != nil {
					return err
				}
				if err := w.merge(to, from); err != nil {
					return err
				}
			}
		}
	}
	for _, n := range w.nodes {
		a, b := w.nodes[0].rep.Store(), n.rep.Store()
		if !a.Clock().Equal(b.Clock()) || a.Digest() != b.Digest() || a.Clock().Hash() != b.Clock().Hash() {
			return fmt.Errorf("after settling:\n%v\n%v", a, b)
		}
	}
	return nil
}

// check compares one node with the specification, and all nodes with each other.
func (w *world) check(n *worldNode) error {
	st := n.rep.Store()
	if err := st.Check(); err != nil {
		return err
	}
	if st.Clock().Len() != uint64(len(n.seen)) {
		return fmt.Errorf("clock %v has %d events, %d operations seen", st.Clock(), st.Clock().Len(), len(n.seen))
	}
	if len(n.rows) != st.Len() {
		return fmt.Errorf("%d rows for %d items", len(n.rows), st.Len())
	}
	for _, o := range w.nodes {
		if o.rep.Store().Clock().Equal(st.Clock()) && o.rep.Store().Digest() != st.Digest() {
			return fmt.Errorf("equal clocks, different digests:\n%v\n%v", st, o.rep.Store())
		}
	}
	for _, p := range n.pins {
		if !slices.Equal(itemsOf(p.snap), p.items) || p.snap.Len() != len(p.items) {
			return errors.New("a snapshot changed")
		}
		for i := range p.items {
			if !p.snap.Live(p.items[i].Dot) {
				return fmt.Errorf("a snapshot forgot %v", &p.items[i])
			}
		}
	}
	return checkValues(n)
}
