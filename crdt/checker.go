package crdt

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt/iblt"
	"github.com/coterie-go/coterie/crdt/index"
	"github.com/coterie-go/coterie/crdt/tree"
)

// Checker checks a store again and again, for tests and the simulator. It finds what Store.Check does, at
// the cost of what has changed since the check before: states of a store share the memory of what no write
// has touched, and what was right there is right still. A write to shared memory would show in nothing
// else, so every wholeEvery-th check walks over everything.
type Checker struct {
	store *Store
	rule  func(key string) error
	n     int // checks until now
	live  checked
	next  checked
	of    *Merging // of next
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
		k.live, k.next = checked{}, checked{}
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
	return s.log.check(s.clock)
}

// checked is contents that were found right. The zero value is none.
type checked struct {
	clock         *Clock // nil: none
	keys          keyTree
	index         itemIndex
	count         int
	bytes         int
	digest        Digest
	sketch        *iblt.Sketch
	before, after []*Item // of the key that was compared last; their memory is used again
}

// check holds contents against those found right before, and notes them if they are right.
func (k *checked) check(c *contents, clock *Clock, rule func(key string) error) error {
	if k.clock == nil || !clock.Includes(k.clock) {
		if err := c.check(clock); err != nil {
			return err
		}
		return k.first(c, clock, rule)
	}
	d := difference{was: k, is: c, clock: clock, rule: rule}
	opened := tree.Diff(&k.keys, &c.keys.tree, d.key)
	if n := k.keys.Len() + d.keys; d.failed == nil && n != c.keys.tree.Len() {
		d.failed = fmt.Errorf("crdt: %d keys of %d", n, c.keys.tree.Len())
	}
	if d.failed == nil {
		d.failed = errors.Join(c.keys.tree.CheckSince(&k.keys), d.check(), c.marks.check(&c.keys.tree, c.living))
	}
	if d.failed == nil && (opened > 0 || len(d.came)+len(d.went) > 0) {
		k.keys, k.index = c.keys.fork(), c.index.Snapshot()
	}
	k.count, k.bytes, k.digest = c.count, c.bytes, c.digest
	if !clock.Equal(k.clock) {
		k.clock = clock.Clone()
	}
	return d.failed
}

// first notes contents that were found right as a whole.
func (k *checked) first(c *contents, clock *Clock, rule func(key string) error) (err error) {
	*k = checked{
		clock: clock.Clone(), keys: c.keys.fork(), index: c.index.Snapshot(), count: c.count, bytes: c.bytes,
		digest: c.digest,
	}
	if c.sketch.Sketch != nil {
		k.sketch = c.sketch.Prefix(c.sketch.Len())
	}
	k.keys.Ascend("", func(ks keyItems) bool {
		if rule != nil {
			err = rule(ks.key())
		}
		return err == nil
	})
	return err
}

// difference is what contents have more or less than those found right before.
type difference struct {
	was    *checked
	is     *contents
	clock  *Clock
	rule   func(key string) error
	keys   int // more
	came   []*Item
	went   []*Item
	failed error
}

// key looks at a key that has changed.
func (d *difference) key(key string) {
	if d.failed != nil {
		return
	}
	was, is := d.was.keys.Get(key), d.is.keys.tree.Get(key)
	if was == (keyItems{}) {
		d.keys++
	}
	if is == (keyItems{}) {
		d.keys--
	} else if d.rule != nil {
		d.failed = d.rule(key)
	}
	if d.failed != nil {
		return
	}
	if large(was) && large(is) && was.kind() == is.kind() {
		d.failed = d.large(was, is)
		return
	}
	d.compare(was, is)
	if is != (keyItems{}) {
		var sum Digest
		d.failed = d.is.checkKey(is, d.clock, &sum)
	}
}

// large reports whether a key has trees of plain items.
func large(ks keyItems) bool { return ks.more != nil && ks.more.big != nil && ks.more.marks == nil }

// compare notes what has changed in a key, by a look at all of it.
func (d *difference) compare(was, is keyItems) {
	a, b := slices.AppendSeq(d.was.before[:0], was.scan("")), slices.AppendSeq(d.was.after[:0], is.scan(""))
	d.was.before, d.was.after = a, b
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && len(b) > 0 && a[0] == b[0]:
			a, b = a[1:], b[1:]
		case len(b) == 0 || len(a) > 0 && !inOrder(b[0], a[0]):
			d.went, a = append(d.went, a[0]), a[1:]
		default:
			d.came, b = append(d.came, b[0]), b[1:]
		}
	}
}

// large notes what has changed in a large key, and holds what it counts against that.
func (d *difference) large(was, is keyItems) error {
	came, went := len(d.came), len(d.went)
	paths, more := was.paths(), was.more.big.rest.Len()
	for _, path := range differingPaths(Reader{ks: was}, Reader{ks: is}) {
		before, now := was.at(path), is.at(path)
		paths += min(len(now), 1) - min(len(before), 1)
		more += min(len(now), 2) - min(len(now), 1) - min(len(before), 2) + min(len(before), 1)
		if err := d.path(is, path, before, now); err != nil {
			return err
		}
	}
	items, bytes := was.items(), was.bytes()
	for _, it := range d.went[went:] {
		items, bytes = items-1, bytes-it.size()
	}
	for _, it := range d.came[came:] {
		items, bytes = items+1, bytes+it.size()
	}
	big := is.more.big
	if items != is.items() || paths != is.paths() || bytes != is.bytes() || paths != big.firsts.Len() ||
		more != big.rest.Len() {
		return fmt.Errorf("crdt: key %q counts %d items of %d bytes at %d paths, has %d of %d at %d",
			is.key(), is.items(), is.bytes(), is.paths(), items, bytes, paths)
	}
	err := errors.Join(big.firsts.CheckSince(&was.more.big.firsts), big.rest.CheckSince(&was.more.big.rest))
	if err != nil {
		return fmt.Errorf("crdt: key %q: %w", is.key(), err)
	}
	return nil
}

// path notes what has changed at a path of a large key.
func (d *difference) path(is keyItems, path string, before, now []*Item) error {
	for _, it := range before {
		if !slices.Contains(now, it) {
			d.went = append(d.went, it)
		}
	}
	for i, it := range now {
		if it.Path != path || i > 0 && !inOrder(now[i-1], it) {
			return fmt.Errorf("crdt: at path %q of key %q stand %v", path, is.key(), now)
		}
		if slices.Contains(before, it) {
			continue
		}
		if d.came = append(d.came, it); !isPlain(it) {
			return fmt.Errorf("crdt: key %q has no marks, and holds item %v", is.key(), it)
		}
		if err := d.is.checkItem(is, it, d.clock); err != nil {
			return err
		}
	}
	return nil
}

// check holds what is summed up of the keys against what came and went.
func (d *difference) check() error {
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
	came, went := 0, 0
	index.Diff(&d.was.index, &c.index, func(before, now *Item) {
		if before != nil {
			went++
		}
		if now != nil {
			came++
		}
	})
	if came != len(d.came) || went != len(d.went) {
		return fmt.Errorf("crdt: %d items came and %d went, of the index %d and %d",
			len(d.came), len(d.went), came, went)
	}
	return d.sketch()
}

// sketch holds the sketch against that of the check before.
func (d *difference) sketch() error {
	c, was := d.is, d.was.sketch
	if c.sketch.Sketch == nil || was == nil || was.Len() != c.sketch.Len() {
		if err := c.sketch.check(c.count, c.index.In(d.clock, Dot{})); err != nil {
			return err
		}
		if d.was.sketch = nil; c.sketch.Sketch != nil {
			d.was.sketch = c.sketch.Prefix(c.sketch.Len())
		}
		return nil
	}
	for _, items := range [][]*Item{d.came, d.went} {
		for _, it := range items {
			was.Toggle(c.sketch.hash.id(it.Dot))
		}
	}
	return c.sketch.is(was.Cells(), c.count)
}
