package crdt

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/coterie-go/coterie/proptest/defect"
)

// contents is the live items of a store, by key and by dot, and what is summed up of them.
//
// Invariants (check): keys and index hold the same items. count is their number, bytes the sum of their
// sizes, digest that of their hashes, and sketch, if one is kept, the sum of their dots. marks tells of the keys with
// marks.
type contents struct {
	seed uint64 // of the hashes
	planted

	keys   keyTable
	index  dotIndex
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
	c.index.put(c.keys.gen, it)
	c.count++
	c.sketch.put(it.Dot, c.count, &c.index)
	c.bytes += it.size()
	if ks.marks() != nil {
		c.marks.entered(ks, it, c.living)
	}
	c.digest = c.digest.Plus(c.hash(it))
	ch.put(it, c.hides(ks, it))
}

// kill drops a live item from its key and the index, then forgets it.
func (c *contents) kill(it *Item, ch *Changes) {
	c.index.remove(c.keys.gen, it.Dot)
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
	is := c.keys.leave(it)
	c.bytes -= it.size()
	if marked {
		c.marks.left(is, it, c.living)
	}
	c.digest = c.digest.Minus(c.hash(it))
	ch.drop(it, hidden)
}

// apply carries out one event that is new. It returns what the event has put, nil if that is
// nothing.
func (c *contents) apply(e *Event, ch *Changes) (it *Item) {
	if e.Puts {
		it = &Item{Dot: e.Dot, Key: e.Key, Path: e.Path, Payload: e.Payload}
		c.insert(it, e.Removes, ch)
	}
	for _, d := range e.Removes {
		old := c.index.remove(c.keys.gen, d)
		switch {
		case old == nil: // it was removed before
		case e.Puts && old.Path == e.Path && old.Key == e.Key:
			c.forget(old, ch) // insert has taken it from its key
		default:
			c.bury(old, ch)
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
		if g[i].Puts && c.index.get(g[i].Dot) == nil {
			g[i].Puts, g[i].Payload = false, ""
		}
	}
	return g
}

// snapshot returns the immutable state of all items. clock is that of the store, which is shared.
func (c *contents) snapshot(clock *Clock) *Snapshot {
	return &Snapshot{
		keys: c.keys.fork(), index: c.index.snapshot(), items: c.count, bytes: c.bytes, clock: clock,
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

// check recomputes everything; clock is that of the store.
func (c *contents) check(clock *Clock) error {
	var sum Digest
	items, bytes := 0, 0
	var failed error
	c.keys.tree.Ascend("", func(ks keyItems) bool {
		failed = c.checkKey(ks, clock, &sum)
		items, bytes = items+ks.items(), bytes+ks.bytes()
		return failed == nil
	})
	if failed == nil {
		failed = c.keys.tree.Check()
	}
	if failed != nil {
		return failed
	}
	if sum != c.digest || items != c.count || bytes != c.bytes {
		return fmt.Errorf("crdt: store counts %d items of %d bytes with digest %v, has %d of %d with %v",
			c.count, c.bytes, c.digest, items, bytes, sum)
	}
	if n := c.index.count(); n != items {
		return fmt.Errorf("crdt: %d dots in the index, %d items", n, items)
	}
	if err := c.sketch.check(c.count, c.index.in(clock, Dot{})); err != nil {
		return err
	}
	return c.marks.check(&c.keys.tree, c.living)
}

// checkKey recomputes what is kept of a key, and adds the hashes of its items to digest.
func (c *contents) checkKey(ks keyItems, clock *Clock, digest *Digest) error {
	key, sum := ks.key(), keyState{}
	var failed error
	var prev *Item
	paths, items := 0, 0
	ks.ascend("", func(it *Item) bool {
		sum.enter(it)
		*digest = digest.Plus(c.hash(it))
		if isFold(it) {
			sum.marking().folds++
			if !ks.more.anchored(it.Path) {
				sum.marks.orphans++
			}
		}
		items++
		if prev == nil || prev.Path != it.Path {
			paths++
		}
		switch {
		case it.Key != key:
			failed = fmt.Errorf("crdt: key %q holds item %v", key, it)
		case ks.kind() != 0 && ks.kind() != kindOf(it.Path):
			failed = fmt.Errorf("crdt: key %q is known to hold %v, and holds item %v", key, ks.kind(), it)
		case !clock.Has(it.Dot):
			failed = fmt.Errorf("crdt: item %v is not in the clock", it)
		case c.index.get(it.Dot) != it:
			failed = fmt.Errorf("crdt: item %v is not in the index", it)
		case prev != nil && (prev.Path > it.Path || prev.Path == it.Path && prev.Dot.Compare(it.Dot) >= 0):
			failed = fmt.Errorf("crdt: item %v stands before %v", prev, it)
		}
		prev = it
		return failed == nil
	})
	switch {
	case failed != nil:
		return failed
	case items == 0 || items != ks.items() || paths != ks.paths():
		return fmt.Errorf("crdt: key %q counts %d items at %d paths, has %d at %d",
			key, ks.items(), ks.paths(), items, paths)
	case sum.bytes != ks.bytes():
		return fmt.Errorf("crdt: key %q counts %d bytes, its items have %d", key, ks.bytes(), sum.bytes)
	case !reflect.DeepEqual(sum.marks, ks.marks()):
		return fmt.Errorf("crdt: key %q: marks %+v, its items make %+v", key, ks.marks(), sum.marks)
	case ks.more != nil && items == 1 && sum.marks == nil:
		return fmt.Errorf("crdt: key %q has a state for one plain item", key)
	case ks.more != nil && ks.more.big != nil:
		if err := errors.Join(ks.more.big.firsts.Check(), ks.more.big.rest.Check()); err != nil {
			return fmt.Errorf("crdt: key %q: %w", key, err)
		}
	}
	return nil
}
