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
		switch whole := before.prefix() == now.prefix() && !before.hides() && !now.hides(); {
		case whole && before.ks == now.ks:
		case whole && before.ks.large() && now.ks.large():
			diffTrees(bigOf(before.ks.more), bigOf(now.ks.more), before.prefix(), yield)
		default:
			diffItems(slices.Collect(before.Items("")), slices.Collect(now.Items("")), yield)
		}
	}
}

// diffTrees is Diff for what two large keys have below a prefix.
func diffTrees(a, b *bigKey, prefix string, yield func(*Item, bool) bool) {
	within := func(it *Item, put bool) bool { return !strings.HasPrefix(it.Path, prefix) || yield(it, put) }
	ended := false
	pair := func(was, is []*Item) { ended = ended || !diffItems(was, is, within) }
	if a.rest.Len()+b.rest.Len() > 0 {
		for _, path := range differingPaths(a, b) {
			pair(a.at(path), b.at(path))
		}
		return
	}
	var x, y []*Item
	tree.DiffEntries(&a.firsts, &b.firsts, func(was, is *Item) {
		pair(keyItems{only: was}.list(&x), keyItems{only: is}.list(&y))
	})
}

// differingPaths returns, in order, the paths at which two large keys differ.
func differingPaths(a, b *bigKey) (paths []string) {
	note := func(path string) { paths = append(paths, path) }
	tree.Diff(&a.firsts, &b.firsts, note)
	tree.Diff(&a.rest, &b.rest, note)
	slices.Sort(paths)
	return slices.Compact(paths)
}

// diffItems yields what only one of two lists by path and dot has, and reports whether it came to their ends.
func diffItems(before, now []*Item, yield func(*Item, bool) bool) bool {
	for len(before)+len(now) > 0 {
		switch {
		case len(now) == 0 || len(before) > 0 && inOrder(before[0], now[0]):
			if !yield(before[0], false) {
				return false
			}
			before = before[1:]
		case len(before) == 0 || inOrder(now[0], before[0]):
			if !yield(now[0], true) {
				return false
			}
			now = now[1:]
		default:
			before, now = before[1:], now[1:]
		}
	}
	return true
}
