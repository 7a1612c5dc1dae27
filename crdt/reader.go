package crdt

import (
	"fmt"
	"iter"
	"slices"
	"strings"
)

// Reader is an immutable view of one key, or of what lies under one path prefix of it. The zero Reader is empty. Any
// number of goroutines may use it. Paths given to it are relative to its prefix; those of items are whole.
//
// It shows neither node-owned items of origins that are not living (Store.SetLiving), nor folded
// counts without an anchor, nor anything of a permanently deleted key.
type Reader struct {
	ks keyItems
	in *scope // nil: all of the key is shown
}

// scope is what a Reader shows of its key, if that is not all. It stands apart, so that the usual Reader, and the views
// of it that values are, are copied in a few registers.
type scope struct {
	prefix string
	hides  bool    // something of the key is hidden
	living *Living // whose node-owned items are shown
}

// readerOf returns the reader of a whole key.
func readerOf(ks keyItems, l *Living) Reader {
	m := ks.marks()
	switch {
	case m == nil:
		return Reader{ks: ks}
	case m.isDeleted():
		return Reader{ks: deletedState(ks.key())}
	case m.hidden(l) == 0:
		return Reader{ks: ks}
	}
	return Reader{ks, &scope{hides: true, living: l}}
}

// prefix is that of all paths that are shown.
func (r Reader) prefix() string {
	if r.in == nil {
		return ""
	}
	return r.in.prefix
}

// hides reports whether something of the key is hidden.
func (r Reader) hides() bool { return r.in != nil && r.in.hides }

// Deleted reports whether the key is permanently deleted: it holds nothing, and never will again.
func (r Reader) Deleted() bool { return r.ks.marks().isDeleted() }

// shows reports whether it is shown.
func (r Reader) shows(it *Item) bool {
	switch {
	case !r.hides():
		return true
	case kindOf(it.Path).owned():
		return r.in.living.Has(it.Dot.Origin)
	}
	return r.ks.marks().orphans == 0 || !isFold(it) || r.ks.more.anchored(it.Path)
}

// Key returns the key's name, "" when it holds nothing.
func (r Reader) Key() string { return r.ks.key() }

// Under returns the reader of what lies below prefix, for types that nest.
func (r Reader) Under(prefix string) Reader {
	switch {
	case prefix == "":
		return r
	case r.in == nil:
		return Reader{r.ks, &scope{prefix: prefix}}
	}
	in := *r.in
	in.prefix += prefix
	return Reader{r.ks, &in}
}

// Rel returns the path of an item of this reader, relative to its prefix.
func (r Reader) Rel(it *Item) string { return it.Path[len(r.prefix()):] }

// Items yields the items whose paths begin with prefix, by path and dot.
func (r Reader) Items(prefix string) iter.Seq[*Item] {
	all := r.ks.scan(r.prefix() + prefix)
	if !r.hides() {
		return all
	}
	return func(yield func(*Item) bool) {
		for it := range all {
			if r.shows(it) && !yield(it) {
				return
			}
		}
	}
}

// Seek returns the first item whose path is path or behind it, nil when there is none. It costs a descent.
func (r Reader) Seek(path string) (found *Item) {
	r.ks.ascend(r.join(path), func(it *Item) bool {
		if !strings.HasPrefix(it.Path, r.prefix()) {
			return false
		}
		if r.shows(it) {
			found = it
		}
		return found == nil
	})
	return found
}

// each calls fn with what Items yields until it returns false. It allocates nothing.
func (r Reader) each(prefix string, fn func(*Item) bool) {
	prefix = r.prefix() + prefix
	r.ks.ascend(prefix, func(it *Item) bool {
		return strings.HasPrefix(it.Path, prefix) && (!r.shows(it) || fn(it))
	})
}

// At returns the siblings at path, by dot. The caller must not modify the slice.
func (r Reader) At(path string) []*Item {
	all := r.ks.at(r.join(path))
	if !r.hides() {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(it *Item) bool { return !r.shows(it) })
}

// Has reports whether anything lives at path.
func (r Reader) Has(path string) bool {
	it, ok := r.ks.one(r.join(path))
	if !r.hides() || ok {
		return !ok || it != nil && r.shows(it)
	}
	return slices.ContainsFunc(r.ks.at(r.join(path)), r.shows)
}

func (r Reader) join(path string) string {
	if r.in == nil {
		return path
	}
	return r.in.prefix + path
}

// Paths counts the distinct paths, in constant time for a whole key of which nothing is hidden.
func (r Reader) Paths() int {
	if r.in == nil {
		return r.ks.paths()
	}
	paths, _ := r.count()
	return paths
}

// Len counts the items, siblings too, in constant time for a whole key.
func (r Reader) Len() int {
	switch {
	case r.in == nil:
		return r.ks.items()
	case r.in.prefix == "":
		return r.ks.items() - r.ks.marks().hidden(r.in.living)
	}
	_, items := r.count()
	return items
}

// count walks over what is shown.
func (r Reader) count() (paths, items int) {
	last := ""
	for it := range r.Items("") {
		if items == 0 || it.Path != last {
			paths++
			last = it.Path
		}
		items++
	}
	return paths, items
}

// Empty reports whether nothing lives here.
func (r Reader) Empty() bool {
	if r.prefix() == "" {
		return r.Len() == 0
	}
	return r.First() == nil
}

// First returns the item with the lowest path and dot, nil when there is none.
func (r Reader) First() *Item {
	if r.in == nil {
		return r.ks.first()
	}
	return r.Seek("")
}

// CheckKind returns ErrTypeClash, with both kinds, when something of another kind lives here. It
// returns ErrDeleted when the key is permanently deleted.
func (r Reader) CheckKind(want Kind) error {
	if r.ks == (keyItems{}) || want != 0 && r.prefix() == "" && r.ks.kind() == want {
		return nil // all items are, those that are hidden too
	}
	if r.Deleted() {
		return deletedError(r.Key())
	}
	if r.hides() && r.Empty() {
		return nil // what is hidden does not count; beside what is shown it does, until it is swept
	}
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

// kindEdges returns two items of which one is of another kind than the first if any item is: paths
// are sorted and the kind is their first byte.
func (r Reader) kindEdges() (first, last *Item) {
	if r.prefix() == "" {
		return r.ks.first(), r.ks.last()
	}
	if first = r.First(); first == nil || r.Rel(first) == "" {
		return first, nil
	}
	if end := pathEnd(r.Rel(first)[:1]); end != "" {
		last = r.Seek(end)
	}
	return first, last
}

// pathEnd returns the first path behind all those that begin with prefix, "" when nothing is behind them.
func pathEnd(prefix string) string {
	for i := len(prefix) - 1; i >= 0; i-- {
		if prefix[i] < 0xff {
			return prefix[:i] + string([]byte{prefix[i] + 1})
		}
	}
	return ""
}
