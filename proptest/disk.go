package proptest

import (
	"iter"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// commit is one transaction of a disk: rows, the clock and the digest that go with them, and, for
// the checkers, what the replica had seen.
type commit struct {
	put    []crdt.Item
	drop   []crdt.Dot
	clock  *crdt.Clock
	digest crdt.Digest
	seen   bits
}

// commit writes what changed to the disk. Standalone values have none.
func (n *node) commit(ch *crdt.Changes) {
	if n.one != nil {
		return
	}
	c := commit{clock: n.rep.Store().Clock().Clone(), digest: n.rep.Store().Digest(), seen: n.seen}
	for _, it := range ch.Put {
		c.put = append(c.put, *it)
	}
	for _, it := range ch.Dropped {
		c.drop = append(c.drop, it.Dot)
	}
	n.disk = append(n.disk, c)
}

// rows returns what a disk holds after commits.
func (p port) rows(disk []commit) iter.Seq2[crdt.Item, error] {
	rows := map[crdt.Dot]crdt.Item{}
	for _, c := range disk {
		for _, it := range c.put {
			rows[it.Dot] = it
		}
		for _, d := range c.drop {
			delete(rows, d)
		}
	}
	dots := slices.SortedFunc(maps.Keys(rows), crdt.Dot.Compare)
	return func(yield func(crdt.Item, error) bool) {
		for _, d := range dots {
			if !yield(p.row(rows[d]), nil) {
				return
			}
		}
	}
}

// restart crashes a replica. A new incarnation loads what was committed; the last few commits may
// be lost.
func (w *world) restart() error {
	n := w.someone()
	old := w.nameOf(n)
	if n.one != nil {
		return w.reopenAlone(n)
	}
	kept := len(n.disk) - min(len(n.disk)-1, w.pick("commits lost", 4))
	n.disk = n.disk[:kept]
	last := n.disk[kept-1]
	w.begin(n)
	w.tell("%s crashes after %d commits and comes back as %s", old, kept-1, w.nameOf(n))
	if err := n.rep.Load(last.clock, last.digest, w.plant.rows(n.disk)); err != nil {
		return w.broken(disksHoldStates, "%s: %v", w.nameOf(n), err)
	}
	n.seen = last.seen
	return w.check(n)
}

// reopenAlone moves a standalone value into a new incarnation.
func (w *world) reopenAlone(n *node) error {
	st := n.state()
	old := w.nameOf(n)
	w.begin(n)
	w.tell("%s comes back as %s", old, w.nameOf(n))
	if err := st.load(n.rep); err != nil {
		return w.broken(disksHoldStates, "%s: %v", w.nameOf(n), err)
	}
	return w.check(n)
}

// prefixes is law 10: after each number of commits a disk holds the state that the replica had
// then, and reads as the model says of it.
func prefixes(w *world) error {
	n := w.nodes[1]
	if n.one != nil {
		return nil
	}
	kept := 1 + w.pick("prefix", len(n.disk))
	last := n.disk[kept-1]
	s := crdt.NewStore(crdt.StoreOptions{DigestSeed: digestSeed})
	if err := s.Load(last.clock, last.digest, w.plant.rows(n.disk[:kept])); err != nil {
		return w.broken(disksHoldStates, "%s, the first %d commits: %v", n.name, kept-1, err)
	}
	for _, key := range w.keys {
		got, err := w.valueAt(s.View(key))
		if err != nil {
			return w.broken(disksHoldStates, "%s, the first %d commits: %v", n.name, kept-1, err)
		}
		if want := w.past.reads(key, last.seen); !alike(got, want) {
			return w.broken(disksHoldStates, "%s, the first %d commits hold %s as\n  %+v\nand the model says\n  %+v",
				n.name, kept-1, key, got, want)
		}
	}
	return nil
}
