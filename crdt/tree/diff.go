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
	height := 0
	for n := t.root; n.kids != nil; n = n.kids[0] {
		height++
	}
	return pieces[E, P]{{at: t.root.low, node: t.root, height: height}}
}

// open takes the next piece away, and leaves what a node holds in its place.
func (p *pieces[E, P]) open() {
	top := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	if top.node == nil {
		return
	}
	for i := int(top.node.n) - 1; i >= 0; i-- {
		next := piece[E, P]{at: top.node.at(i), height: top.height - 1}
		if top.node.kids != nil {
			next.node = top.node.kids[i]
		} else {
			next.entry = top.node.entries[i]
		}
		*p = append(*p, next)
	}
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

func (p pieces[E, P]) next() *piece[E, P] {
	if len(p) == 0 {
		return nil
	}
	return &p[len(p)-1]
}
