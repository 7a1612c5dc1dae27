package crdt

import (
	"iter"
	"slices"
	"strings"
)

// Diff yields what only one of two states of a key shows: the items of before with false, those of
// now with true, by path. It costs as much as what differs, in whatever order the two came about
// and however large the key is: trees of which one was made from the other share what neither has
// changed, and that is passed over. Where something of the key is hidden, from readers of
// node-owned items or of folded counts, and where one looks below another prefix, it walks over
// both.
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

// differingPaths returns, in order, the paths at which the two may differ; all of both when nothing
// better is known.
func differingPaths(before, now Reader) (paths []string) {
	note := func(path string) { paths = append(paths, path) }
	a, b := before.ks.more, now.ks.more
	if a != nil && b != nil && before.prefix == now.prefix && a.big != nil && b.big != nil &&
		!before.hides && !now.hides {
		diffTrees(&a.big.firsts, &b.big.firsts, note)
		diffTrees(&a.big.rest, &b.big.rest, note)
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

// piece is what is left to look at of a tree: a node with all below it, or one entry.
type piece[E entry] struct {
	at     string // its place, or the node's low
	node   *node[E]
	height int
	entry  E
}

// pieces are what is left of one side, the next one last.
type pieces[E entry] []piece[E]

func piecesOf[E entry](t *tree[E]) pieces[E] {
	if t.root == nil {
		return nil
	}
	height := 0
	for n := t.root; n.kids != nil; n = n.kids[0] {
		height++
	}
	return pieces[E]{{at: t.root.low, node: t.root, height: height}}
}

// open takes the next piece away, and leaves what a node holds in its place.
func (p *pieces[E]) open() {
	top := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	if top.node == nil {
		return
	}
	for i := int(top.node.n) - 1; i >= 0; i-- {
		next := piece[E]{at: top.node.at(i), height: top.height - 1}
		if top.node.kids != nil {
			next.node = top.node.kids[i]
		} else {
			next.entry = top.node.entries[i]
		}
		*p = append(*p, next)
	}
}

// diffTrees calls fn with the places at which two trees differ, in order, and says how many nodes
// it has opened. Both sides are walked in step: what both share comes up on both at the same time,
// as long as the side that is behind, or whose node is higher, is opened first.
func diffTrees[E entry](before, now *tree[E], fn func(place string)) (opened int) {
	sides := [2]pieces[E]{piecesOf(before), piecesOf(now)}
	open := func(side int) {
		s := &sides[side]
		if (*s)[len(*s)-1].node != nil {
			opened++
		}
		s.open()
	}
	for {
		x, y := sides[0].next(), sides[1].next()
		switch {
		case x == nil && y == nil:
			return opened
		case y == nil || x != nil && x.at < y.at:
			if x.node == nil {
				fn(x.at)
			}
			open(0)
		case x == nil || y.at < x.at:
			if y.node == nil {
				fn(y.at)
			}
			open(1)
		case x.node == y.node:
			if x.node == nil && x.entry != y.entry {
				fn(x.at)
			}
			sides[0], sides[1] = sides[0][:len(sides[0])-1], sides[1][:len(sides[1])-1]
		case y.node == nil || x.node != nil && x.height >= y.height:
			open(0)
		default:
			open(1)
		}
	}
}

func (p pieces[E]) next() *piece[E] {
	if len(p) == 0 {
		return nil
	}
	return &p[len(p)-1]
}
