package crdt

import (
	"slices"
	"sort"

	"github.com/coterie-go/coterie/crdt/tree"
)

// keyState is the live items of a key that holds several, or has marks. Few items are a sorted slice, many a
// copy-on-write tree.
//
// A keyState whose generation is not the store's has been handed out to readers and is never
// changed again: the writer clones it first. Only the writer reads and writes gen.
type keyState struct {
	gen   uint64 // 0: pinned by a View
	key   string // the one copy of the key that items, trees and changes share
	small []*Item
	big   any    // a *bigKey, see bigOf; nil while small serves
	marks *marks // nil: only plain data
	items int32
	paths int32
	bytes int  // of items, estimated
	kind  Kind // of all items; 0: not known, several perhaps
}

// keySmallMax is how many items the slice holds before trees take over. A set that shrinks keeps them.
const keySmallMax = 32

// bigKey is the items of a key by path. Siblings are rare, so that all but the one with the lowest dot live apart.
type bigKey struct {
	firsts tree.Tree[*Item, itemPath]
	rest   tree.Tree[*siblings, siblingsPath]
}

// bigOf returns the trees of a key that has some. What a type of this package leads to, the compiler reads for each
// package that uses the type, and each compiles all generic types in it anew (proptest/instances counts them): so
// these two are not to be seen. Signatures of methods are read, too: what takes a tree's cursor is a function.
func bigOf(k *keyState) *bigKey { return k.big.(*bigKey) }

// siblings are the items at one path but the first, by dot; at least one. They never change.
type siblings struct {
	path  string
	items []*Item
}

// itemPath and siblingsPath place what a key holds in its trees.
type (
	itemPath     struct{}
	siblingsPath struct{}
)

func (itemPath) Place(it *Item) string        { return it.Path }
func (siblingsPath) Place(s *siblings) string { return s.path }

// clone returns a copy for changing at generation gen; stamps gives out the generations of trees.
func (k *keyState) clone(gen uint64, stamps *uint64) *keyState {
	c := *k
	c.gen, c.marks = gen, k.marks.clone()
	if k.big != nil {
		c.big = &bigKey{firsts: bigOf(k).firsts.Fork(stamps), rest: bigOf(k).rest.Fork(stamps)}
	} else {
		c.small = append(make([]*Item, 0, len(k.small)+1), k.small...) // one more mostly comes next
	}
	return &c
}

// searchSmall returns the index of the first item at or after (path, d).
func (k *keyState) searchSmall(path string, d Dot) int {
	return sort.Search(len(k.small), func(i int) bool {
		it := k.small[i]
		return it.Path > path || it.Path == path && it.Dot.Compare(d) >= 0
	})
}

// at returns the siblings at path, by dot. The slice may be the key's own: read only, and not beyond the next change.
func (k *keyState) at(path string) []*Item {
	if k.big != nil {
		return bigOf(k).at(path)
	}
	i := k.searchSmall(path, Dot{})
	j := i
	for j < len(k.small) && k.small[j].Path == path {
		j++
	}
	return k.small[i:j:j]
}

// one returns the only item at path; with siblings it returns nil and false, and at tells them all.
func (k *keyState) one(path string) (it *Item, ok bool) {
	if k.big != nil {
		b := bigOf(k)
		it = b.firsts.Get(path)
		if b.rest.Len() > 0 && b.rest.Get(path) != nil {
			return nil, false
		}
		return it, true
	}
	i := k.searchSmall(path, Dot{})
	if i == len(k.small) || k.small[i].Path != path {
		return nil, true
	}
	return k.small[i], i+1 == len(k.small) || k.small[i+1].Path != path
}

// ascend calls fn with the items from path on, by path and dot, until it returns false.
func (k *keyState) ascend(path string, fn func(*Item) bool) {
	if k.big != nil {
		bigOf(k).ascend(path, fn)
		return
	}
	for _, it := range k.small[k.searchSmall(path, Dot{}):] {
		if !fn(it) {
			return
		}
	}
}

// first returns the first item, nil if there is none.
func (k *keyState) first() *Item {
	switch {
	case k.items == 0:
		return nil
	case k.big == nil:
		return k.small[0]
	}
	return bigOf(k).firsts.First()
}

// putItem enters it, and takes away at once those siblings at its path that removes names. c, which may
// be nil, may lead there.
func putItem(k *keyState, it *Item, removes []Dot, c *tree.Cursor[*Item, itemPath]) {
	k.around(it, func() { insertItem(k, it, removes, c) })
}

func insertItem(k *keyState, it *Item, removes []Dot, c *tree.Cursor[*Item, itemPath]) {
	if k.big != nil {
		putBig(k, it, removes, c)
		return
	}
	i := k.searchSmall(it.Path, Dot{})
	j, n := i, i
	for ; j < len(k.small) && k.small[j].Path == it.Path; j++ {
		if !slices.Contains(removes, k.small[j].Dot) {
			k.small[n] = k.small[j]
			n++
		}
	}
	if j == i {
		k.paths++
	}
	k.items -= int32(j - n)
	k.small = slices.Delete(k.small, n, j)
	k.small = slices.Insert(k.small, k.searchSmall(it.Path, it.Dot), it)
	k.items++
	if len(k.small) > keySmallMax {
		k.grow()
	}
}

// putBig first bets that nothing else stays at the path, which saves a second descent of the tree.
func putBig(k *keyState, it *Item, removes []Dot, c *tree.Cursor[*Item, itemPath]) {
	b := bigOf(k)
	prev := b.firsts.Set(it, c)
	switch {
	case prev == nil:
		k.items++
		k.paths++
		return
	case b.rest.Len() == 0 && slices.Contains(removes, prev.Dot):
		return
	}
	all := b.with(prev)
	keep := slices.DeleteFunc(all, func(old *Item) bool { return slices.Contains(removes, old.Dot) })
	k.items += int32(1 + len(keep) - len(all))
	b.set(append(keep, it))
}

// grow moves the items from the slice to trees.
func (k *keyState) grow() {
	b := &bigKey{}
	k.big = b
	for i := 0; i < len(k.small); {
		j := i + 1
		for j < len(k.small) && k.small[j].Path == k.small[i].Path {
			j++
		}
		b.set(slices.Clone(k.small[i:j]))
		i = j
	}
	k.small = nil
}

// dropItem takes it away, which must be there. c, which may be nil, may lead there.
func dropItem(k *keyState, it *Item, c *tree.Cursor[*Item, itemPath]) {
	k.around(it, func() { removeItem(k, it, c) })
}

func removeItem(k *keyState, it *Item, c *tree.Cursor[*Item, itemPath]) {
	k.items--
	if k.big == nil {
		i := k.searchSmall(it.Path, it.Dot)
		sibling := i > 0 && k.small[i-1].Path == it.Path || i+1 < len(k.small) && k.small[i+1].Path == it.Path
		k.small = slices.Delete(k.small, i, i+1)
		if !sibling {
			k.paths--
		}
		return
	}
	b := bigOf(k)
	if b.rest.Len() == 0 || b.rest.Get(it.Path) == nil {
		b.firsts.Remove(it.Path, c)
		k.paths--
		return
	}
	b.set(slices.DeleteFunc(b.at(it.Path), func(o *Item) bool { return o.Dot == it.Dot }))
}

// at returns the siblings at path, by dot, in a slice of the caller's own.
func (b *bigKey) at(path string) []*Item {
	first := b.firsts.Get(path)
	if first == nil {
		return nil
	}
	return b.with(first)
}

// with returns a first item and its siblings, in a slice of the caller's own.
func (b *bigKey) with(first *Item) []*Item {
	var rest []*Item
	if b.rest.Len() > 0 {
		if s := b.rest.Get(first.Path); s != nil {
			rest = s.items
		}
	}
	all := make([]*Item, 0, len(rest)+2) // room for one that comes
	return append(append(all, first), rest...)
}

// set makes items, in any order and at least one, those at their path. It takes the slice over.
func (b *bigKey) set(items []*Item) {
	slices.SortFunc(items, func(x, y *Item) int { return x.Dot.Compare(y.Dot) })
	b.firsts.Set(items[0], nil)
	path := items[0].Path
	switch {
	case len(items) > 1:
		b.rest.Set(&siblings{path, items[1:]}, nil)
	case b.rest.Len() > 0 && b.rest.Get(path) != nil:
		b.rest.Remove(path, nil)
	}
}

// ascend calls fn with the items from path on, by path and dot, until it returns false.
func (b *bigKey) ascend(path string, fn func(*Item) bool) {
	if b.rest.Len() == 0 {
		b.firsts.Ascend(path, fn)
		return
	}
	b.firsts.Ascend(path, func(first *Item) bool {
		if !fn(first) {
			return false
		}
		if s := b.rest.Get(first.Path); s != nil {
			for _, it := range s.items {
				if !fn(it) {
					return false
				}
			}
		}
		return true
	})
}
