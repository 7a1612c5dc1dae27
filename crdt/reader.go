package crdt

import (
	"fmt"
	"iter"
	"strings"
)

// Reader is an immutable view of one key, or of what lies under one path prefix of it. The zero Reader is empty.
// Any number of goroutines may use it. Paths given to it are relative to its prefix; those of items are whole.
type Reader struct {
	ks     *keyState // nil: the key holds nothing
	prefix string
}

// Key returns the key's name, "" when it holds nothing.
func (r Reader) Key() string {
	if r.ks == nil {
		return ""
	}
	return r.ks.key
}

// Under returns the reader of what lies below prefix, for types that nest.
func (r Reader) Under(prefix string) Reader { return Reader{ks: r.ks, prefix: r.prefix + prefix} }

// Rel returns the path of an item of this reader, relative to its prefix.
func (r Reader) Rel(it *Item) string { return it.Path[len(r.prefix):] }

// Items yields the items whose paths begin with prefix, by path and dot.
func (r Reader) Items(prefix string) iter.Seq[*Item] {
	return r.ks.scan(r.prefix + prefix)
}

func (k *keyState) scan(prefix string) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		k.ascend(prefix, func(it *Item) bool { return strings.HasPrefix(it.Path, prefix) && yield(it) })
	}
}

// At returns the siblings at path, by dot. The caller must not modify the slice.
func (r Reader) At(path string) []*Item { return r.ks.at(r.join(path)) }

// Has reports whether anything lives at path.
func (r Reader) Has(path string) bool {
	it, ok := r.ks.one(r.join(path))
	return it != nil || !ok
}

func (r Reader) join(path string) string {
	if r.prefix == "" {
		return path
	}
	return r.prefix + path
}

// Paths counts the distinct paths, in constant time for a whole key.
func (r Reader) Paths() int {
	if r.ks == nil || r.prefix == "" {
		return r.ks.pathCount()
	}
	paths, _ := r.ks.under(r.prefix)
	return paths
}

// Len counts the items, siblings too, in constant time for a whole key.
func (r Reader) Len() int {
	if r.ks == nil || r.prefix == "" {
		return r.ks.itemCount()
	}
	_, items := r.ks.under(r.prefix)
	return items
}

// Empty reports whether nothing lives here.
func (r Reader) Empty() bool { return r.First() == nil }

// First returns the item with the lowest path and dot, nil when there is none.
func (r Reader) First() *Item {
	if r.prefix == "" {
		if r.ks.itemCount() == 0 {
			return nil
		}
		first, _ := r.ks.edges()
		return first
	}
	var first *Item
	r.ks.ascend(r.prefix, func(it *Item) bool {
		if strings.HasPrefix(it.Path, r.prefix) {
			first = it
		}
		return false
	})
	return first
}

// Digest returns the digest of the whole key: equal digests mean equal values.
func (r Reader) Digest() Digest {
	if r.ks == nil {
		return Digest{}
	}
	return r.ks.digest
}

// CheckKind returns ErrTypeClash, with both kinds, when something of another kind lives here.
func (r Reader) CheckKind(want Kind) error {
	first, last := r.kindEdges()
	for _, it := range [2]*Item{first, last} {
		if it == nil {
			continue
		}
		if rel := r.Rel(it); rel == "" || Kind(rel[0]) != want {
			return fmt.Errorf("%w: key %q holds %v, wanted %v", ErrTypeClash, it.Key, kindOf(rel), want)
		}
	}
	return nil
}

// kindEdges returns two items of which one is of another kind than the first if any item is: paths are sorted and the kind is their first byte.
func (r Reader) kindEdges() (first, last *Item) {
	if r.ks == nil || r.prefix == "" {
		if r.ks.itemCount() == 0 {
			return nil, nil
		}
		return r.ks.edges()
	}
	if first = r.First(); first == nil || r.Rel(first) == "" {
		return first, nil
	}
	next := r.prefix + string([]byte{r.Rel(first)[0] + 1})
	if r.Rel(first)[0] < 0xff {
		r.ks.ascend(next, func(it *Item) bool {
			if strings.HasPrefix(it.Path, r.prefix) {
				last = it
			}
			return false
		})
	}
	return first, last
}

func (k *keyState) pathCount() int {
	if k == nil {
		return 0
	}
	return int(k.paths)
}

func (k *keyState) itemCount() int {
	if k == nil {
		return 0
	}
	return int(k.items)
}
