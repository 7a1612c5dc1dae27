package crdt

import (
	"cmp"
	"slices"
)

// marks is what a key holds beside plain data; nearly every key has none. It belongs to its
// keyState, and is copied with it.
type marks struct {
	owners  []owner // of node-owned items, by origin
	deleted int32   // markers of DeleteForever
	folds   int32   // folded counts, of which are
	orphans int32   // without an anchor
}

// owner is what one origin owns in a key.
type owner struct {
	origin Origin
	items  int32
}

func (m *marks) clone() *marks {
	if m == nil {
		return nil
	}
	c := *m
	c.owners = slices.Clone(m.owners)
	return &c
}

// enter counts an item that has been put.
func (k *keyState) enter(it *Item) {
	k.bytes += it.size()
	kind := kindOf(it.Path)
	switch {
	case k.items == 1:
		k.kind = kind
	case k.kind != kind:
		k.kind = 0
	}
	switch {
	case kind.owned():
		m := k.marking()
		i, ok := m.find(it.Dot.Origin)
		if !ok {
			m.owners = slices.Insert(m.owners, i, owner{origin: it.Dot.Origin})
		}
		m.owners[i].items++
	case it.Path == deletedPath:
		k.marking().deleted++
	}
}

// leave counts an item that has been dropped.
func (k *keyState) leave(it *Item) {
	k.bytes -= it.size()
	m := k.marks
	if m == nil {
		return
	}
	switch {
	case kindOf(it.Path).owned():
		i, _ := m.find(it.Dot.Origin)
		m.owners[i].items--
		if m.owners[i].items == 0 {
			m.owners = slices.Delete(m.owners, i, i+1)
		}
	case it.Path == deletedPath:
		m.deleted--
	}
	k.unmark()
}

// around lets an item come or go, and follows what that makes of the folded counts at its path.
func (k *keyState) around(it *Item, change func()) {
	if _, _, ok := countPath(it.Path); !ok || (k.marks == nil || k.marks.folds == 0) && !isFold(it) {
		change()
		return
	}
	folds, orphans := k.foldsAt(it.Path)
	change()
	m := k.marking()
	m.folds, m.orphans = m.folds-folds, m.orphans-orphans
	folds, orphans = k.foldsAt(it.Path)
	m.folds, m.orphans = m.folds+folds, m.orphans+orphans
	k.unmark()
}

// foldsAt counts the folded counts at a path, and those that have no anchor.
func (k *keyState) foldsAt(path string) (folds, orphans int32) {
	for _, it := range k.at(path) {
		if isFold(it) {
			folds++
		}
	}
	if folds > 0 && !k.anchored(path) {
		orphans = folds
	}
	return folds, orphans
}

// unmark forgets marks that say nothing any more.
func (k *keyState) unmark() {
	if m := k.marks; len(m.owners) == 0 && m.deleted == 0 && m.folds == 0 {
		k.marks = nil
	}
}

func (k *keyState) marking() *marks {
	if k.marks == nil {
		k.marks = &marks{}
	}
	return k.marks
}

func (m *marks) find(o Origin) (int, bool) {
	return slices.BinarySearchFunc(m.owners, o, func(w owner, o Origin) int { return cmp.Compare(w.origin, o) })
}

// isPlain reports whether it makes no marks.
func isPlain(it *Item) bool { return !kindOf(it.Path).owned() && it.Path != deletedPath && !isFold(it) }

// owns reports whether o owns an item of the key.
func (m *marks) owns(o Origin) bool {
	if m == nil {
		return false
	}
	_, ok := m.find(o)
	return ok
}

// isDeleted reports whether the key carries a marker of DeleteForever.
func (m *marks) isDeleted() bool { return m != nil && m.deleted > 0 }

// hidden counts what readers are not shown while those live.
func (m *marks) hidden(l *Living) (items int) {
	if m == nil {
		return 0
	}
	items = int(m.orphans)
	for _, w := range m.owners {
		if !l.Has(w.origin) {
			items += int(w.items)
		}
	}
	return items
}
