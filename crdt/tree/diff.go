package tree

// piece is what is left to look at of a tree: a node with all below it, or one entry.
type piece[E comparable, P Placer[E]] struct {
	at     string // its place, or the node's low
	node   *node[E, P]
	height int
	entry  E
}

// pieces are what is left of one side, the next one last.
type pieces[E comparable, P Placer[E]] []piece[E, P]

// with adds a tree, to be looked at next.
func (p pieces[E, P]) with(t *Tree[E, P]) pieces[E, P] {
	if t.root == nil {
		return p
	}
	return append(p, piece[E, P]{at: t.root.low, node: t.root, height: t.root.height()})
}

// open takes the next piece away, and leaves in its place what a node holds, without so many at its front
// and at its back.
func (p pieces[E, P]) open(front, back int) pieces[E, P] {
	top := p[len(p)-1]
	p = p[:len(p)-1]
	if top.node == nil {
		return p
	}
	for i := int(top.node.n) - 1 - back; i >= front; i-- {
		next := piece[E, P]{at: top.node.at(i), height: top.height - 1}
		if top.node.kids != nil {
			next.node = top.node.kids[i]
		} else {
			next.entry = top.node.entries[i]
		}
		p = append(p, next)
	}
	return p
}

// sameEnds returns how many at the front, and at the back of the rest, are those of another node of its height.
func (n *node[E, P]) sameEnds(o *node[E, P]) (front, back int) {
	most := int(min(n.n, o.n))
	for front < most && n.sameAt(front, o, front) {
		front++
	}
	for back < most-front && n.sameAt(int(n.n)-1-back, o, int(o.n)-1-back) {
		back++
	}
	return front, back
}

// height returns how many levels of nodes are below.
func (n *node[E, P]) height() (levels int) {
	for ; n.kids != nil; n = n.kids[0] {
		levels++
	}
	return levels
}

// sameAt reports whether what a node holds at i is what another of its height holds at j.
func (n *node[E, P]) sameAt(i int, o *node[E, P], j int) bool {
	if n.kids != nil {
		return n.kids[i] == o.kids[j]
	}
	return n.entries[i] == o.entries[j]
}

// Diff calls fn with the places at which two trees differ, in order, and says how many nodes
// it has opened.
func Diff[E comparable, P Placer[E]](before, now *Tree[E, P], fn func(place string)) (opened int) {
	return DiffEntries(before, now, func(was, is E) {
		var none E
		if is == none {
			is = was
		}
		fn(placeOf[E, P](is))
	})
}

// fewPieces is how many pieces are left at a time, mostly: of two trees of which few changes made one from the other.
const fewPieces = 8

// DiffEntries is Diff, and tells what stands at a place before and now, the zero E where nothing does. Both sides are
// walked in step: what both share comes up on both at the same time, as long as the side that is behind, or
// whose node is higher, is opened first.
func DiffEntries[E comparable, P Placer[E]](before, now *Tree[E, P], fn func(was, is E)) (opened int) {
	if before.root == now.root {
		return 0
	}
	var none E
	var few [2][fewPieces]piece[E, P]
	left, right := pieces[E, P](few[0][:0]).with(before), pieces[E, P](few[1][:0]).with(now)
	for {
		x, y := left.next(), right.next()
		first := true // to be opened
		switch {
		case x == nil && y == nil:
			return opened
		case y == nil || x != nil && x.at < y.at:
			if x.node == nil {
				fn(x.entry, none)
			}
		case x == nil || y.at < x.at:
			if first = false; y.node == nil {
				fn(none, y.entry)
			}
		case x.node == y.node:
			if x.node == nil && x.entry != y.entry {
				fn(x.entry, y.entry)
			}
			left, right = left[:len(left)-1], right[:len(right)-1]
			continue
		case x.node != nil && y.node != nil && x.height == y.height:
			opened += 2
			front, back := x.node.sameEnds(y.node) // which differ in nothing
			left, right = left.open(front, back), right.open(front, back)
			continue
		default:
			first = y.node == nil || x.node != nil && x.height >= y.height
		}
		if first && x.node != nil || !first && y.node != nil {
			opened++
		}
		if first {
			left = left.open(0, 0)
		} else {
			right = right.open(0, 0)
		}
	}
}

func (p pieces[E, P]) next() *piece[E, P] {
	if len(p) == 0 {
		return nil
	}
	return &p[len(p)-1]
}
