package crdt

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
)

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
	if n := c.index.Count(); n != items {
		return fmt.Errorf("crdt: %d dots in the index, %d items", n, items)
	}
	if err := c.sketch.check(c.count, c.index.In(clock, Dot{})); err != nil {
		return err
	}
	return c.marks.check(&c.keys.tree, c.living)
}

// checkKey recomputes what is kept of a key, and adds the hashes of its items to digest unless that is nil.
func (c *contents) checkKey(ks keyItems, clock *Clock, digest *Digest) error {
	key, sum := ks.key(), keyState{}
	var failed error
	var prev *Item
	paths, items := 0, 0
	ks.ascend("", func(it *Item) bool {
		sum.enter(it)
		if digest != nil {
			*digest = digest.Plus(c.hash(it))
		}
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
		if failed = c.checkItem(ks, it, clock); failed == nil && prev != nil && !inOrder(prev, it) {
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
		if err := errors.Join(bigOf(ks.more).firsts.Check(), bigOf(ks.more).rest.Check()); err != nil {
			return fmt.Errorf("crdt: key %q: %w", key, err)
		}
	}
	return nil
}

// checkItem holds an item of a key against the key, the clock and the index.
func (c *contents) checkItem(ks keyItems, it *Item, clock *Clock) error {
	switch {
	case it.Key != ks.key():
		return fmt.Errorf("crdt: key %q holds item %v", ks.key(), it)
	case ks.kind() != 0 && ks.kind() != kindOf(it.Path):
		return fmt.Errorf("crdt: key %q is known to hold %v, and holds item %v", ks.key(), ks.kind(), it)
	case !clock.Has(it.Dot):
		return fmt.Errorf("crdt: item %v is not in the clock", it)
	case c.index.Get(it.Dot) != it:
		return fmt.Errorf("crdt: item %v is not in the index", it)
	}
	return nil
}

// inOrder reports whether an item of a key stands before another by path and dot.
func inOrder(a, b *Item) bool {
	n := strings.Compare(a.Path, b.Path)
	return n < 0 || n == 0 && a.Dot.Compare(b.Dot) < 0
}
