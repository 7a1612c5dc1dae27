package crdt

import (
	"iter"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt/tree"
)

// keyItems is the live items of one key. Most keys hold one item and nothing else: it says
// all of its key, which then needs no state. The zero value is a key that holds nothing.
//
// Invariants (check): at most one of the two is set. more holds several items, or has marks.
type keyItems struct {
	only *Item     // the one item, plain data
	more *keyState // for all other keys
}

// keyTree is the keys of a store.
type keyTree = tree.Tree[keyItems, keyPlace]

type keyPlace struct{}

// Place returns the key.
func (keyPlace) Place(k keyItems) string { return k.key() }

// key returns the one copy of the key that items, trees and changes share, "" if it holds nothing.
func (k keyItems) key() string {
	switch {
	case k.only != nil:
		return k.only.Key
	case k.more != nil:
		return k.more.key
	}
	return ""
}

// marks returns what the key holds beside plain data, nil if that is nothing.
func (k keyItems) marks() *marks {
	if k.more == nil {
		return nil
	}
	return k.more.marks
}

// state returns the items as a state for changing, of generation gen; stamps gives out the
// generations of trees. key is the name of a key that holds nothing yet.
func (k keyItems) state(key string, gen uint64, stamps *uint64) *keyState {
	switch {
	case k.more == nil:
		s := &keyState{gen: gen, key: key}
		if k.only != nil {
			putItem(s, k.only, nil, nil)
			s.enter(k.only)
		}
		return s
	case k.more.gen != gen:
		return k.more.clone(gen, stamps)
	}
	return k.more
}

// goesWith reports whether nothing stays of a key without a state beside an item that is put at path
// and removes so much.
func (k keyItems) goesWith(path string, removes []Dot) bool {
	return k.only == nil || k.only.Path == path && slices.Contains(removes, k.only.Dot)
}

// handOut makes sure that the items are never changed again. It costs the next write to a state a copy of its top.
func (k keyItems) handOut() {
	if k.more != nil {
		k.more.gen = 0
	}
}

// at returns the siblings at path, by dot. The slice may be the key's own: read only, and not beyond the next change.
func (k keyItems) at(path string) []*Item {
	if k.more != nil {
		return k.more.at(path)
	} else if it, _ := k.one(path); it != nil {
		return []*Item{it}
	}
	return nil
}

// one returns the only item at path; with siblings it returns nil and false, and at tells them all.
func (k keyItems) one(path string) (it *Item, ok bool) {
	switch {
	case k.more != nil:
		return k.more.one(path)
	case k.only != nil && k.only.Path == path:
		return k.only, true
	}
	return nil, true
}

// oneFor is one for the writer: c leads there afterwards, if it can.
func oneFor(k keyItems, path string, c *tree.Cursor[*Item, itemPath]) (it *Item, ok bool) {
	if k.more != nil && k.more.big != nil {
		if b := bigOf(k.more); b.rest.Len() == 0 {
			return b.firsts.Seek(path, c), true
		}
	}
	return k.one(path)
}

// ascend calls fn with the items from path on, by path and dot, until it returns false.
func (k keyItems) ascend(path string, fn func(*Item) bool) {
	switch {
	case k.more != nil:
		k.more.ascend(path, fn)
	case k.only != nil && k.only.Path >= path:
		fn(k.only)
	}
}

// scan yields the items whose paths begin with prefix, by path and dot.
func (k keyItems) scan(prefix string) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		k.ascend(prefix, func(it *Item) bool { return strings.HasPrefix(it.Path, prefix) && yield(it) })
	}
}

// first returns the first item, nil if the key holds nothing.
func (k keyItems) first() *Item {
	if k.more != nil {
		return k.more.first()
	}
	return k.only
}

// last returns the last item, or one at the last path, if there are several paths.
func (k keyItems) last() *Item {
	switch {
	case k.more == nil || k.more.items == 0:
		return k.only
	case k.more.big == nil:
		return k.more.small[len(k.more.small)-1]
	}
	return bigOf(k.more).firsts.Last()
}

// items counts the items.
func (k keyItems) items() int {
	switch {
	case k.more != nil:
		return int(k.more.items)
	case k.only != nil:
		return 1
	}
	return 0
}

// paths counts the distinct paths.
func (k keyItems) paths() int {
	if k.more != nil {
		return int(k.more.paths)
	}
	return k.items()
}

// bytes estimates the encoded size of the items, their key aside.
func (k keyItems) bytes() int {
	switch {
	case k.more != nil:
		return k.more.bytes
	case k.only != nil:
		return k.only.size()
	}
	return 0
}

// kind returns the kind of all items; 0: not known, several perhaps.
func (k keyItems) kind() Kind {
	switch {
	case k.more != nil:
		return k.more.kind
	case k.only != nil:
		return kindOf(k.only.Path)
	}
	return 0
}
