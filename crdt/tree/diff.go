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

func piecesOf[E comparable, P Placer[E]](t *Tree[E, P]) pieces[E, P] {
	if t.root == nil {
		return nil
	}
	return pieces[E, P]{{at: t.root.low, node: t.root, height: t.root.height()}}
}

// open takes the next piece away, and leaves in its place what a node holds, without so many at its front
// and at its back.
func (p *pieces[E, P]) open(front, back int) {
	top := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	if top.node == nil {
		return
	}
	for i := int(top.node.n) - 1 - back; i >= front; i-- {
		next := piece[E, P]{at: top.node.at(i), height: top.height - 1}
		if top.node.kids != nil {
			next.node = top.node.kids[i]
		} else {
			next.entry = top.node.entries[i]
		}
		*p = append(*p, next)
	}
}

// openBoth takes the next pieces away, which are nodes of one height, and leaves what they hold in their
// places. What both hold at their ends is left out: it differs in nothing.
func openBoth[E comparable, P Placer[E]](x, y *pieces[E, P]) {
	front, back := x.next().node.sameEnds(y.next().node)
	x.open(front, back)
	y.open(front, back)
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
// it has opened. Both sides are walked in step: what both share comes up on both at the same time,
// as long as the side that is behind, or whose node is higher, is opened first.
func Diff[E comparable, P Placer[E]](before, now *Tree[E, P], fn func(place string)) (opened int) {
	sides := [2]pieces[E, P]{piecesOf(before), piecesOf(now)}
	open := func(side int) {
		s := &sides[side]
		if (*s)[len(*s)-1].node != nil {
			opened++
		}
		s.open(0, 0)
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
		case x.node != nil && y.node != nil && x.height == y.height:
			opened += 2
			openBoth(&sides[0], &sides[1])
		case y.node == nil || x.node != nil && x.height >= y.height:
			open(0)
		default:
			open(1)
		}
	}
}

func (p pieces[E, P]) next() *piece[E, P] {
	if len(p) == 0 {
		return nil
	}
	return &p[len(p)-1]
}
