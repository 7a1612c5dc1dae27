package crdt

import (
	"iter"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/crdt/tree"
)

// Diff yields what only one of two states of a key shows: the items of before with false, those of now with true, by
// path. It costs as much as what differs, in whatever order the two came about and however large the key is: trees of
// which one was made from the other share what neither has changed, and that is passed over. Where something of the
// key is hidden, from readers of node-owned items or of folded counts, and where one looks below another prefix, it
// walks over both.
func Diff(before, now Reader) iter.Seq2[*Item, bool] {
	return func(yield func(*Item, bool) bool) {
		if before.ks == now.ks && before.prefix == now.prefix && !before.hides && !now.hides {
			return
		}
		for _, path := range differingPaths(before, now) {
			if !yieldSiblings(before.ks.shownAt(before, path), now.ks.shownAt(now, path), yield) {
				return
			}
		}
	}
}

// shownAt returns what a reader shows at a whole path.
func (k keyItems) shownAt(r Reader, path string) []*Item {
	if !strings.HasPrefix(path, r.prefix) {
		return nil
	}
	return r.At(path[len(r.prefix):])
}

// yieldSiblings yields what only one of two runs of siblings has.
func yieldSiblings(before, now []*Item, yield func(*Item, bool) bool) bool {
	for _, it := range before {
		if !hasDot(now, it.Dot) && !yield(it, false) {
			return false
		}
	}
	for _, it := range now {
		if !hasDot(before, it.Dot) && !yield(it, true) {
			return false
		}
	}
	return true
}

func hasDot(items []*Item, d Dot) bool {
	return slices.ContainsFunc(items, func(it *Item) bool { return it.Dot == d })
}

// differingPaths returns, in order, the paths at which the two may differ; all of both when nothing better is known.
func differingPaths(before, now Reader) (paths []string) {
	note := func(path string) { paths = append(paths, path) }
	a, b := before.ks.more, now.ks.more
	if a != nil && b != nil && before.prefix == now.prefix && a.big != nil && b.big != nil &&
		!before.hides && !now.hides {
		tree.Diff(&a.big.firsts, &b.big.firsts, note)
		tree.Diff(&a.big.rest, &b.big.rest, note)
	} else {
		for _, r := range []Reader{before, now} {
			for it := range r.Items("") {
				note(it.Path)
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}
