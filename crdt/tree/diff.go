package tree

import "strings"

// side is what is left to look at of a tree. What is next is a node with all below it, or one entry.
type side[E comparable, P Placer[E]] struct {
	over   bool        // nothing is next
	at     string      // the place of the entry, or the node's low
	node   *node[E, P] // nil: an entry is next
	height int
	entry  E

	depth int // how many nodes were opened and have parts left
	parts [fewParts]part[E, P]
	deep  []part[E, P] // of the lowest ones, if there are more
}

// part is what is left of a node.
type part[E comparable, P Placer[E]] struct {
	of       *node[E, P]
	height   int
	from, to int
}

// fewParts is how many nodes are open at a time, mostly: as many as a tree has levels. Their memory is part of the
// side, which stays on the stack.
const fewParts = 4

// begin takes a tree.
func (s *side[E, P]) begin(t *Tree[E, P]) {
	if s.over = t.root == nil; !s.over {
		s.at, s.node, s.height = t.root.low, t.root, t.root.height()
	}
}

// open goes on with what the next node holds, without so many at its front and at its back.
func (s *side[E, P]) open(front, back int) {
	p := part[E, P]{s.node, s.height, front, int(s.node.n) - back}
	if s.depth < fewParts {
		s.parts[s.depth] = p
	} else {
		s.deep = append(s.deep[:s.depth-fewParts], p)
	}
	s.depth++
	s.pass()
}

// lowest is the part of the node that was opened last.
func (s *side[E, P]) lowest() *part[E, P] {
	if s.depth <= fewParts {
		return &s.parts[s.depth-1]
	}
	return &s.deep[s.depth-fewParts-1]
}

// pass goes on behind what is next.
func (s *side[E, P]) pass() {
	for ; s.depth > 0; s.depth-- {
		p := s.lowest()
		if p.from == p.to {
			continue
		}
		i := p.from
		p.from++
		if s.height = p.height - 1; p.of.kids != nil {
			s.node = p.of.kids[i]
			s.at = s.node.low
		} else {
			s.node, s.entry = nil, p.of.entries[i]
			s.at = placeOf[E, P](s.entry)
		}
		return
	}
	s.over = true
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

// DiffEntries is Diff, and tells what stands at a place before and now, the zero E where nothing does. Both sides are
// walked in step: what both share comes up on both at the same time, as long as the side that is behind, or
// whose node is higher, is opened first.
func DiffEntries[E comparable, P Placer[E]](before, now *Tree[E, P], fn func(was, is E)) (opened int) {
	if before.root == now.root {
		return 0
	}
	var none E
	var x, y side[E, P]
	x.begin(before)
	y.begin(now)
	for !x.over || !y.over {
		order := 0
		switch {
		case x.over:
			order = 1
		case y.over:
			order = -1
		case x.node != y.node || x.node == nil && x.entry != y.entry:
			order = strings.Compare(x.at, y.at)
		default: // both share it
			x.pass()
			y.pass()
			continue
		}
		switch {
		case order < 0 && x.node == nil:
			fn(x.entry, none)
			x.pass()
		case order > 0 && y.node == nil:
			fn(none, y.entry)
			y.pass()
		case order == 0 && x.node == nil && y.node == nil:
			fn(x.entry, y.entry)
			x.pass()
			y.pass()
		case order == 0 && x.node != nil && y.node != nil && x.height == y.height:
			opened += 2
			front, back := x.node.sameEnds(y.node) // which differ in nothing
			x.open(front, back)
			y.open(front, back)
		case order < 0 || order == 0 && (y.node == nil || x.node != nil && x.height >= y.height):
			opened++
			x.open(0, 0)
		default:
			opened++
			y.open(0, 0)
		}
	}
	return opened
}
