package crdt

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/crdt/index"
	"github.com/coterie-go/coterie/crdt/tree"
)

// Checker checks a store again and again, for tests and the simulator. It finds what Store.Check does, at the cost of
// what has changed since the check before: states of a store share the memory of what no write has touched, and what
// was right there is right still. So are the events that stay in the log. A write to shared memory, or to an old event
// of the log, would show in nothing else, so every wholeEvery-th check walks over everything.
type Checker struct {
	store *Store
	rule  func(key string) error
	n     int // checks until now
	live  checked
	next  checked
	of    *Merging // of next
	log   rightLog
}

// wholeEvery is how many checks there are to one that looks at everything.
const wholeEvery = 64

// NewChecker returns a checker of a store. rule, which may be nil, says what else is wrong with a key that
// holds something.
func NewChecker(s *Store, rule func(key string) error) *Checker {
	return &Checker{store: s, rule: rule}
}

// Weight says how much a check of everything looks at: how many items, and about how many bytes of them.
func (k *Checker) Weight() (items, bytes int) { return k.store.live.count, k.store.live.bytes }

// Check returns what differs from what the store maintains.
func (k *Checker) Check() error {
	s := k.store
	if k.n++; k.n%wholeEvery == 0 {
		k.live, k.next, k.log = checked{}, checked{}, rightLog{}
	}
	if err := k.live.check(&s.live, s.clock, k.rule); err != nil {
		return err
	}
	if s.merging != k.of {
		k.of, k.next = s.merging, checked{}
	}
	if k.of != nil {
		if err := k.next.check(&k.of.next, k.of.clock(), nil); err != nil {
			return err
		}
	}
	return s.log.check(k.live.clock, &k.log)
}

// checked is contents that were found right. The zero value is none.
type checked struct {
	clock  *Clock // nil: none; it never changes
	keys   keyTree
	index  itemIndex
	count  int
	bytes  int
	digest Digest
	sketch *iblt.Sketch
	living *Living
	marked [3]int     // what the marks count
	last   difference // its memory is used again
}

// check holds contents against those found right before, and notes them if they are right.
func (k *checked) check(c *contents, clock *Clock, rule func(key string) error) (err error) {
	same := k.clock != nil && clock.Equal(k.clock)
	if k.clock == nil || !same && !clock.Includes(k.clock) {
		if err = c.check(clock); err == nil && rule != nil {
			c.keys.tree.Ascend("", func(ks keyItems) bool {
				err = rule(ks.key())
				return err == nil
			})
		}
		k.sketch = nil
	} else {
		d := &k.last
		*d = difference{
			was: k, is: c, clock: clock, rule: rule,
			came: d.came[:0], went: d.went[:0], before: d.before, after: d.after,
		}
		err = d.check()
	}
	if err != nil {
		return err
	}
	if !same {
		k.clock = clock.Clone()
	}
	if !tree.Same(&k.keys, &c.keys.tree) {
		k.keys = c.keys.fork()
	}
	if !index.Same(&k.index, &c.index) {
		k.index = c.index.Snapshot()
	}
	if k.sketch == nil && c.sketch.Sketch != nil {
		k.sketch = c.sketch.Prefix(c.sketch.Len())
	}
	k.count, k.bytes, k.digest, k.living, k.marked = c.count, c.bytes, c.digest, c.living, c.marks.counts()
	return nil
}

// difference is what contents have more or less than those found right before.
type difference struct {
	was    *checked
	is     *contents
	clock  *Clock
	rule   func(key string) error
	keys   int // more
	failed error

	came, went    []*Item
	before, after []*Item // of the key that was compared last
	entered, left int     // the items that the index has more, and those that it has not any more
}

// key looks at a key that has changed.
func (d *difference) key(was, is keyItems) {
	switch none := (keyItems{}); {
	case d.failed != nil:
		return
	case was == none:
		d.keys++
	case is == none:
		d.keys--
	}
	if is != (keyItems{}) && d.rule != nil {
		d.failed = d.rule(is.key())
	}
	came, went, paths := len(d.came), len(d.went), was.paths()
	same := was.marks() == nil && is.marks() == nil && (was.kind() == is.kind() || was == (keyItems{}))
	if same && was.large() && is.large() {
		paths += d.large(was, is)
	} else {
		paths += d.compare(was.list(&d.before), is.list(&d.after))
		if is == (keyItems{}) {
			return
		} else if !same || is.large() {
			d.failed = errors.Join(d.failed, d.is.checkKey(is, d.clock, nil))
			return
		}
	}
	items, bytes := was.items(), was.bytes()
	for _, it := range d.went[went:] {
		items, bytes = items-1, bytes-it.size()
	}
	for _, it := range d.came[came:] {
		if items, bytes = items+1, bytes+it.size(); d.failed == nil {
			d.failed = d.is.checkItem(is, it, d.clock)
		}
		if !isPlain(it) {
			d.failed = fmt.Errorf("crdt: key %q has no marks, and holds item %v", is.key(), it)
		}
	}
	if d.failed == nil && (items != is.items() || paths != is.paths() || bytes != is.bytes() ||
		is.large() && paths != bigOf(is.more).firsts.Len() || items < 2 && (items == 0 || is.more != nil)) {
		d.failed = fmt.Errorf("crdt: key %q counts %d items of %d bytes at %d paths, has %d of %d at %d",
			is.key(), is.items(), is.bytes(), is.paths(), items, bytes, paths)
	}
}

// large reports whether a key has trees.
func (k keyItems) large() bool { return k.more != nil && k.more.big != nil }

// list returns the items by path and dot, in buf if they do not stand side by side.
func (k keyItems) list(buf *[]*Item) []*Item {
	if k.more != nil && k.more.big == nil {
		return k.more.small
	}
	*buf = (*buf)[:0]
	k.ascend("", func(it *Item) bool {
		*buf = append(*buf, it)
		return true
	})
	return *buf
}

// compare notes what has changed among the items of a key or path, and returns at how many paths more it has some.
func (d *difference) compare(a, b []*Item) (paths int) {
	beside := false // something came or went just before
	for i, j := 0, 0; i < len(a) || j < len(b); {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			if beside {
				paths += d.begins(b, j) - d.begins(a, i)
			}
			i, j, beside = i+1, j+1, false
		case j == len(b) || i < len(a) && !inOrder(b[j], a[i]):
			paths -= d.begins(a, i)
			d.went = append(d.went, a[i])
			i, beside = i+1, true
		default:
			paths += d.begins(b, j)
			d.came = append(d.came, b[j])
			j, beside = j+1, true
		}
	}
	return paths
}

// begins returns 1 if an item of a key is the first at its path, else 0.
func (d *difference) begins(items []*Item, i int) int {
	if i == 0 {
		return 1
	}
	if d.failed == nil && !inOrder(items[i-1], items[i]) {
		d.failed = fmt.Errorf("crdt: item %v stands before %v", items[i-1], items[i])
	}
	if items[i-1].Path == items[i].Path {
		return 0
	}
	return 1
}

// large is compare for the trees of a large key.
func (d *difference) large(was, is keyItems) (paths int) {
	a, b := bigOf(was.more), bigOf(is.more)
	if a.rest.Len()+b.rest.Len() == 0 {
		tree.DiffEntries(&a.firsts, &b.firsts, func(before, now *Item) {
			if before != nil {
				d.went = append(d.went, before)
				paths--
			}
			if now != nil {
				d.came = append(d.came, now)
				paths++
			}
		})
	} else {
		more := a.rest.Len()
		for _, path := range differingPaths(a, b) {
			before, now := a.at(path), b.at(path)
			more += min(len(now), 2) - min(len(now), 1) - min(len(before), 2) + min(len(before), 1)
			paths += d.compare(before, now)
		}
		if more != b.rest.Len() {
			d.failed = fmt.Errorf("crdt: %d paths with siblings of %d", b.rest.Len(), more)
		}
	}
	if d.failed == nil {
		d.failed = errors.Join(b.firsts.CheckSince(&a.firsts), b.rest.CheckSince(&a.rest))
	}
	return paths
}

// check looks at the keys that have changed, and holds what is summed up of all against what came and went.
func (d *difference) check() error {
	c, k := d.is, d.was
	tree.DiffEntries(&k.keys, &c.keys.tree, d.key)
	if d.failed != nil {
		return d.failed
	}
	if n := k.keys.Len() + d.keys; n != c.keys.tree.Len() {
		return fmt.Errorf("crdt: %d keys of %d", n, c.keys.tree.Len())
	}
	if err := errors.Join(c.keys.tree.CheckSince(&k.keys), d.sums()); err != nil {
		return err
	}
	if tree.Same(&k.keys, &c.keys.tree) && k.living == c.living && k.marked == c.marks.counts() {
		return nil
	}
	return c.marks.check(&c.keys.tree, c.living)
}

// sums holds what is summed up of the keys against what came and went.
func (d *difference) sums() error {
	c, sum, bytes := d.is, d.was.digest, d.was.bytes
	for _, it := range d.went {
		sum, bytes = sum.Minus(c.hash(it)), bytes-it.size()
		if c.index.Get(it.Dot) == it {
			return fmt.Errorf("crdt: item %v is in the index, and in no key", it)
		}
	}
	for _, it := range d.came {
		sum, bytes = sum.Plus(c.hash(it)), bytes+it.size()
	}
	items := d.was.count + len(d.came) - len(d.went)
	if sum != c.digest || items != c.count || bytes != c.bytes {
		return fmt.Errorf("crdt: store counts %d items of %d bytes with digest %v, has %d of %d with %v",
			c.count, c.bytes, c.digest, items, bytes, sum)
	}
	index.Diff(&d.was.index, &c.index, d.indexed)
	if d.entered != len(d.came) || d.left != len(d.went) {
		return fmt.Errorf("crdt: %d items came and %d went, of the index %d and %d",
			len(d.came), len(d.went), d.entered, d.left)
	}
	return d.sketch()
}

// indexed counts what the index has more or less.
func (d *difference) indexed(before, now *Item) {
	if before != nil {
		d.left++
	}
	if now != nil {
		d.entered++
	}
}

// sketch holds the sketch against that of the check before.
func (d *difference) sketch() error {
	c, was := d.is, d.was.sketch
	if c.sketch.Sketch == nil || was == nil || was.Len() != c.sketch.Len() {
		d.was.sketch = nil
		return c.sketch.check(c.count, c.index.In(d.clock, Dot{}))
	}
	for _, items := range [][]*Item{d.came, d.went} {
		for _, it := range items {
			was.Toggle(c.sketch.hash.id(it.Dot))
		}
	}
	return c.sketch.is(was.Cells(), c.count)
}
