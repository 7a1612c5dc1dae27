package crdt

import (
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/btree"
)

// markIndex finds the keys that have marks.
//
// Invariants (check): what it says follows from the marks of the keys, and from the living origins.
type markIndex struct {
	owned   map[Origin]*btree.Set[string] // keys in which an origin owns an item
	deleted int                           // keys that are permanently deleted
	litter  btree.Set[string]             // keys that hold what no reader is shown, or may
}

// branch returns a copy for changing. Neither sees what is done to the other.
func (x *markIndex) branch() markIndex {
	b := markIndex{deleted: x.deleted, litter: *x.litter.Copy(), owned: map[Origin]*btree.Set[string]{}}
	for o, keys := range x.owned { // order: into a map
		b.owned[o] = keys.Copy()
	}
	return b
}

// entered follows every insert into a key with marks.
func (x *markIndex) entered(ks keyItems, it *Item, l *Living) {
	switch {
	case kindOf(it.Path).owned():
		keys := x.owned[it.Dot.Origin]
		if keys == nil {
			keys = &btree.Set[string]{}
			if x.owned == nil {
				x.owned = map[Origin]*btree.Set[string]{}
			}
			x.owned[it.Dot.Origin] = keys
		}
		keys.Insert(it.Key)
	case it.Path == deletedPath && ks.marks().deleted == 1:
		x.deleted++
	}
	x.review(it.Key, ks, l)
}

// left follows every end of an item in a key that has marks, had them, or is littered.
func (x *markIndex) left(ks keyItems, it *Item, l *Living) {
	switch {
	case kindOf(it.Path).owned():
		if keys := x.owned[it.Dot.Origin]; !ks.marks().owns(it.Dot.Origin) {
			if keys.Delete(it.Key); keys.Len() == 0 {
				delete(x.owned, it.Dot.Origin)
			}
		}
	case it.Path == deletedPath && !ks.marks().isDeleted():
		x.deleted--
	}
	x.review(it.Key, ks, l)
}

// review notes whether a key holds what no reader is shown.
func (x *markIndex) review(key string, ks keyItems, l *Living) {
	hidden := ks.marks().hidden(l)
	if ks.marks().isDeleted() {
		hidden = ks.items() - 1
	}
	if hidden > 0 {
		x.litter.Insert(key)
	} else if x.litter.Len() > 0 {
		x.litter.Delete(key)
	}
}

// changed returns the keys that have an item of an origin that is living in one set and not in the
// other, some more than once.
func (x *markIndex) changed(was, is *Living) (keys []string) {
	for _, o := range slices.Sorted(maps.Keys(x.owned)) {
		if was.Has(o) != is.Has(o) {
			keys = append(keys, x.owned[o].Keys()...)
		}
	}
	return keys
}

// littered reports whether a key may hold what no reader is shown.
func (x *markIndex) littered() bool { return x.litter.Len() > 0 }

// next returns the first littered key from one on, around the end.
func (x *markIndex) next(from string) (key string, ok bool) {
	take := func(k string) bool {
		key, ok = k, true
		return false
	}
	if x.litter.Ascend(from, take); !ok {
		x.litter.Ascend("", take)
	}
	return key, ok
}

// counts tells two states apart of which only one is right for the keys.
func (x *markIndex) counts() [3]int { return [3]int{x.deleted, len(x.owned), x.litter.Len()} }

// check holds the index against the marks of all keys.
func (x *markIndex) check(keys *keyTree, l *Living) error {
	deleted, owned := 0, 0
	var failed error
	keys.Ascend("", func(ks keyItems) bool {
		m := ks.marks()
		if m == nil {
			if x.littered() && x.litter.Contains(ks.key()) {
				failed = fmt.Errorf("crdt: plain key %q waits for a sweep", ks.key())
			}
			return failed == nil
		}
		if m.isDeleted() {
			deleted++
		}
		owned += len(m.owners)
		failed = x.checkKey(ks, l)
		return failed == nil
	})
	for _, keys := range x.owned { // order: counts
		owned -= keys.Len()
	}
	if failed == nil && (deleted != x.deleted || owned != 0) {
		failed = fmt.Errorf("crdt: %d keys are deleted forever, %d are counted; %d owners too many",
			deleted, x.deleted, owned)
	}
	return failed
}

func (x *markIndex) checkKey(ks keyItems, l *Living) error {
	m, key := ks.marks(), ks.key()
	for _, w := range m.owners {
		if keys := x.owned[w.origin]; keys == nil || !keys.Contains(key) {
			return fmt.Errorf("crdt: no index says that %v owns something in key %q", w.origin, key)
		}
	}
	hidden := m.hidden(l)
	litter := hidden > 0 && m.deleted == 0 || m.deleted > 0 && ks.items() > 1
	if have := x.litter.Contains(key); litter != have {
		return fmt.Errorf("crdt: key %q holds %d hidden items of %d, to be swept: %v", key, hidden, ks.items(), have)
	}
	return nil
}
