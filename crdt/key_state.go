package crdt

import "slices"

// keyState is the live items of one key. Few items are a sorted slice, many a copy-on-write tree.
//
// A keyState whose generation is not the store's has been handed out to readers and is never changed again: the writer clones it first.
// Only the writer reads and writes gen.
type keyState struct {
	gen    uint64 // 0: pinned by a View
	key    string // the one copy of the key that items, trees and changes share
	small  []*Item
	tree   *pathTree // nil while small serves
	marks  *marks    // nil: only plain data
	items  int32
	paths  int32
	digest Digest
}

// keySmallMax is how many items the slice holds before a tree takes over. A set that shrinks keeps its tree.
const keySmallMax = 32

// cell is the siblings at one path. A cell is immutable: changing it makes another.
type cell struct {
	first *Item    // the one with the lowest dot, nil when the cell is empty
	rest  *[]*Item // the others by dot, nil when there are none: the usual case costs no slice
}

func newKeyState(gen uint64, key string) *keyState { return &keyState{gen: gen, key: key} }

// clone returns a copy for changing at generation gen; stamps gives out the generations of trees.
func (k *keyState) clone(gen uint64, stamps *uint64) *keyState {
	c := *k
	c.gen, c.marks = gen, k.marks.clone()
	if k.tree != nil {
		c.tree = k.tree.fork(stamps)
	} else {
		c.small = slices.Clone(k.small)
	}
	return &c
}

// searchSmall returns the index of the first item at or after (path, d).
func (k *keyState) searchSmall(path string, d Dot) int {
	lo, hi := 0, len(k.small)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		it := k.small[m]
		if it.Path < path || it.Path == path && it.Dot.Compare(d) < 0 {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// dotsAt returns the dots of the siblings at path, in a slice of the caller's own.
func (k *keyState) dotsAt(path string) []Dot {
	if it, alone := k.one(path); alone {
		if it == nil {
			return nil
		}
		return []Dot{it.Dot}
	}
	return dotsOf(k.at(path))
}

// at returns the siblings at path, by dot. The slice may be the key's own: read only, and not beyond the next change.
func (k *keyState) at(path string) []*Item {
	if k == nil {
		return nil
	}
	if k.tree != nil {
		return k.tree.get(path).appendTo(nil)
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
	if k == nil {
		return nil, true
	}
	if k.tree != nil {
		c := k.tree.get(path)
		return c.first, c.rest == nil
	}
	i := k.searchSmall(path, Dot{})
	if i == len(k.small) || k.small[i].Path != path {
		return nil, true
	}
	return k.small[i], i+1 == len(k.small) || k.small[i+1].Path != path
}

// ascend calls fn with the items from path on, by path and dot, until it returns false.
func (k *keyState) ascend(path string, fn func(*Item) bool) {
	if k == nil {
		return
	}
	if k.tree != nil {
		k.tree.ascend(path, func(c cell) bool { return c.each(fn) })
		return
	}
	for _, it := range k.small[k.searchSmall(path, Dot{}):] {
		if !fn(it) {
			return
		}
	}
}

// edges returns the first and the last item of a key that is not empty.
func (k *keyState) edges() (first, last *Item) {
	if k.tree == nil {
		return k.small[0], k.small[len(k.small)-1]
	}
	lo, hi := k.tree.edges()
	return lo.first, hi.first
}

// put enters it, and takes away at once those siblings at its path that removes names.
func (k *keyState) put(it *Item, removes []Dot) {
	if k.tree != nil {
		k.putTree(it, removes)
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

// putTree first bets that nothing else stays at the path, which saves a second descent of the tree.
func (k *keyState) putTree(it *Item, removes []Dot) {
	alone := cell{first: it}
	prev := k.tree.set(it.Path, alone)
	k.items++
	if prev.first == nil {
		k.paths++
		return
	}
	keep := make([]*Item, 0, 4)
	prev.each(func(old *Item) bool {
		if slices.Contains(removes, old.Dot) {
			k.items--
		} else {
			keep = append(keep, old)
		}
		return true
	})
	if len(keep) > 0 {
		k.tree.set(it.Path, newCell(append(keep, it)))
	}
}

// grow moves the items from the slice to a tree.
func (k *keyState) grow() {
	k.tree = &pathTree{}
	for i := 0; i < len(k.small); {
		j := i + 1
		for j < len(k.small) && k.small[j].Path == k.small[i].Path {
			j++
		}
		k.tree.set(k.small[i].Path, newCell(k.small[i:j]))
		i = j
	}
	k.small = nil
}

// drop takes it away, which must be there.
func (k *keyState) drop(it *Item) {
	k.items--
	if k.tree == nil {
		i := k.searchSmall(it.Path, it.Dot)
		sibling := i > 0 && k.small[i-1].Path == it.Path || i+1 < len(k.small) && k.small[i+1].Path == it.Path
		k.small = slices.Delete(k.small, i, i+1)
		if !sibling {
			k.paths--
		}
		return
	}
	c := k.tree.get(it.Path)
	if c.rest == nil {
		k.tree.remove(it.Path)
		k.paths--
		return
	}
	keep := slices.DeleteFunc(c.appendTo(nil), func(o *Item) bool { return o.Dot == it.Dot })
	k.tree.set(it.Path, newCell(keep))
}

// newCell makes a cell of siblings in any order; it keeps no reference to the slice.
func newCell(items []*Item) cell {
	if len(items) == 1 {
		return cell{first: items[0]}
	}
	all := slices.Clone(items)
	slices.SortFunc(all, func(a, b *Item) int { return a.Dot.Compare(b.Dot) })
	rest := all[1:]
	return cell{first: all[0], rest: &rest}
}

func (c cell) each(fn func(*Item) bool) bool {
	if c.first != nil && !fn(c.first) {
		return false
	}
	if c.rest != nil {
		for _, it := range *c.rest {
			if !fn(it) {
				return false
			}
		}
	}
	return true
}

func (c cell) appendTo(dst []*Item) []*Item {
	if c.first != nil {
		dst = append(dst, c.first)
	}
	if c.rest != nil {
		dst = append(dst, *c.rest...)
	}
	return dst
}
