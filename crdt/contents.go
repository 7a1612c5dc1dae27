package crdt

import (
	"slices"

	"github.com/coterie-go/coterie/crdt/index"
	"github.com/coterie-go/coterie/proptest/defect"
)

// itemIndex is the items of a store by their dots.
type itemIndex = index.Index[*Item]

// contents is the live items of a store, by key and by dot, and what is summed up of them.
//
// Invariants (check): keys and index hold the same items. count is their number, bytes the sum of their sizes, digest
// that of their hashes, and sketch, if one is kept, the sum of their dots. marks tells of the keys with marks.
type contents struct {
	seed uint64 // of the hashes
	planted

	keys   keyTable
	index  itemIndex
	count  int
	bytes  int // estimated
	digest Digest
	sketch keptSketch
	living *Living // whose node-owned items are shown
	marks  markIndex
	buf    []byte // scratch of hashing
}

// shown is whose items readers are shown.
func (c *contents) shown() *Living {
	if c.Planted(defect.ShowRemoved) {
		return nil
	}
	return c.living
}

// view returns the reader of a key's state.
func (c *contents) view(ks keyItems) Reader { return readerOf(ks, c.shown()) }

// hash returns what an item adds to the digest.
func (c *contents) hash(it *Item) (h Digest) {
	c.buf, h = hashItem(c.buf, c.seed, it)
	return h
}

// hides reports whether a live item of the key changes nothing of what readers are shown.
func (c *contents) hides(ks keyItems, it *Item) bool {
	m := ks.marks()
	switch {
	case m == nil:
		return false
	case m.deleted > 0:
		return it.Path != deletedPath || m.deleted > 1
	}
	return kindOf(it.Path).owned() && !c.shown().Has(it.Dot.Origin) ||
		m.folds > 0 && isFold(it) && !ks.more.anchored(it.Path)
}

// insert brings an item to life, which is the store's from then on, and takes away those siblings at its
// path that removes names; the caller finishes those with forget.
func (c *contents) insert(it *Item, removes []Dot, ch *Changes) {
	ks := c.keys.put(it, removes)
	c.enter(ks, it)
	ch.put(it, c.hides(ks, it))
}

// enter follows an item that has come to a key.
func (c *contents) enter(ks keyItems, it *Item) {
	c.index.Put(it.Dot, it)
	c.count++
	c.sketch.put(it.Dot, c.count, &c.index)
	c.bytes += it.size()
	if ks.marks() != nil {
		c.marks.entered(ks, it, c.living)
	}
	c.digest = c.digest.Plus(c.hash(it))
}

// kill drops a live item from its key and the index, then forgets it.
func (c *contents) kill(it *Item, ch *Changes) {
	c.index.Remove(it.Dot)
	c.bury(it, ch)
}

// bury drops an item that the index holds no more from its key, then forgets it.
func (c *contents) bury(it *Item, ch *Changes) {
	c.keys.drop(it)
	c.forget(it, ch)
}

// forget finishes the death of an item that neither its key nor the index holds any more.
func (c *contents) forget(it *Item, ch *Changes) {
	was := c.keys.get(it.Key)
	marked, hidden := was.marks() != nil || c.marks.littered(), c.hides(was, it)
	c.count--
	c.sketch.drop(it.Dot, c.count)
	is := c.keys.leave(it, was)
	c.bytes -= it.size()
	if marked {
		c.marks.left(is, it, c.living)
	}
	c.digest = c.digest.Minus(c.hash(it))
	ch.drop(it, hidden)
}

// apply carries out one event that is new. It returns what the event has put; of one that puts nothing, what it has
// removed last, nil if that is nothing.
func (c *contents) apply(e *Event, ch *Changes) (it *Item) {
	if e.Puts {
		it = &Item{Dot: e.Dot, Key: e.Key, Path: e.Path, Payload: e.Payload}
		c.insert(it, e.Removes, ch)
	}
	for _, d := range e.Removes {
		old := c.index.Remove(d)
		switch {
		case old == nil: // it was removed before
			continue
		case e.Puts && old.Path == e.Path && old.Key == e.Key:
			c.forget(old, ch) // insert has taken it from its key
		default:
			c.bury(old, ch)
		}
		if !e.Puts {
			it = old
		}
	}
	if e.Puts && c.Planted(defect.DropLosingSibling) {
		c.dropLosers(it, ch)
	}
	return it
}

// dropLosers is the defect DropLosingSibling.
func (c *contents) dropLosers(it *Item, ch *Changes) {
	siblings := append([]*Item(nil), c.keys.get(it.Key).at(it.Path)...)
	win := it
	for _, o := range siblings {
		if o.Payload > win.Payload || o.Payload == win.Payload && o.Dot.Compare(win.Dot) > 0 {
			win = o
		}
	}
	for _, o := range siblings {
		if o != win {
			c.kill(o, ch)
		}
	}
}

// bare is the defect BareFactWithoutRemover: a group without the payloads that are not live.
func (c *contents) bare(g Group) Group {
	g = slices.Clone(g)
	for i := range g {
		if g[i].Puts && c.index.Get(g[i].Dot) == nil {
			g[i].Puts, g[i].Payload = false, ""
		}
	}
	return g
}

// snapshot returns the immutable state of all items. clock is that of the store, which is shared.
func (c *contents) snapshot(clock *Clock) *Snapshot {
	return &Snapshot{
		trees: &snapshotTrees{c.keys.fork(), c.index.Snapshot()}, items: c.count, bytes: c.bytes, clock: clock,
		digest: c.digest, living: c.shown(), hidden: c.hiddenKeys(),
	}
}

// show sets whose node-owned items readers are shown. It returns the keys in which that changes
// something, some more than once.
func (c *contents) show(l *Living) []string {
	keys := c.marks.changed(c.living, l)
	c.living = l
	for _, key := range keys {
		c.marks.review(key, c.keys.get(key), l)
	}
	return keys
}

// hiddenKeys counts the keys that read as if they held nothing.
func (c *contents) hiddenKeys() int {
	n := c.marks.deleted
	c.marks.litter.Scan(func(key string) bool {
		if ks := c.keys.get(key); !ks.marks().isDeleted() && c.view(ks).Len() == 0 {
			n++
		}
		return true
	})
	return n
}
