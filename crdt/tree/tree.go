package tree

// Placer tells at which string an entry stands; that never changes. Only its type counts.
type Placer[E any] interface{ Place(e E) string }

// placeOf returns where an entry stands.
func placeOf[E comparable, P Placer[E]](e E) string {
	var p P
	return p.Place(e)
}

// Tree is a sorted map of entries by their places: a copy-on-write B+ tree. What it has over a
// general one is locality. A node knows how many leading bytes all its places share, and keeps the
// next four of each side by side. So a search compares numbers, and looks at no place except the
// one that it finds. Places lie far apart in memory, and each comparison of two would cost a cache
// miss. Nodes are freed when they are empty and not joined before.
//
// A node of another generation than its tree's is shared with another tree and is cloned before it
// is changed. The zero value is empty.
type Tree[E comparable, P Placer[E]] struct {
	root *node[E, P] // nil when empty
	len  int
	gen  uint64
}

// Fork returns a tree with the same content. Both then own none of the nodes; stamps gives out
// generations.
func (t *Tree[E, P]) Fork(stamps *uint64) Tree[E, P] {
	*stamps += 2
	t.gen = *stamps - 1
	return Tree[E, P]{root: t.root, len: t.len, gen: *stamps}
}

// Same reports whether two trees are seen to be the same at once: they share all nodes.
func Same[E comparable, P Placer[E]](a, b *Tree[E, P]) bool {
	return a.root == b.root && a.len == b.len
}

// Len counts the entries.
func (t *Tree[E, P]) Len() int { return t.len }

// Get returns the entry at a place, the zero E when there is none.
func (t *Tree[E, P]) Get(place string) (none E) {
	if leaf, i := t.find(place); leaf != nil {
		return leaf.entries[i]
	}
	return none
}

// Spot is where an entry was found. It may stand there no more.
type Spot[E comparable, P Placer[E]] struct {
	leaf *node[E, P]
	at   int
}

// Find is Get, and tells where the entry stands.
func (t *Tree[E, P]) Find(place string) (e E, at Spot[E, P]) {
	leaf, i := t.find(place)
	if leaf == nil {
		return e, at
	}
	return leaf.entries[i], Spot[E, P]{leaf, i}
}

// Replace enters e in place of what was found at a spot, which stands at the same place, if it is there still, in a
// leaf that the tree owns: then the tree owns all nodes on the way. It reports whether that is so.
func (t *Tree[E, P]) Replace(was, e E, at Spot[E, P]) bool {
	if at.leaf == nil || at.leaf.gen != t.gen || at.at >= int(at.leaf.n) || at.leaf.entries[at.at] != was {
		return false
	}
	at.leaf.entries[at.at] = e
	return true
}

// find returns where the entry at a place stands, nil when there is none. It follows the numbers
// alone: a place that is there has the leading bytes of every node on its way, and what is found
// instead of one that is not there differs from it. Only where numbers tie are places compared on
// the way.
func (t *Tree[E, P]) find(place string) (leaf *node[E, P], at int) {
	n := t.root
	if n == nil {
		return nil, 0
	}
	for n.kids != nil {
		l := lead(place, int(n.skip))
		i := seek(&n.leads, l)
		if i < nodeMax && n.leads[i] == l {
			m, same := n.match(place)
			if i = m; same {
				i++
			}
		}
		if i == 0 {
			return nil, 0
		}
		n = n.kids[i-1]
	}
	l := lead(place, int(n.skip))
	i := seek(&n.leads, l)
	switch {
	case i >= int(n.n) || n.leads[i] != l:
	case i+1 < int(n.n) && n.leads[i+1] == l:
		if i, same := n.match(place); same {
			return n, i
		}
	case placeOf[E, P](n.entries[i]) == place:
		return n, i
	}
	return nil, 0
}

// Seek is Get for the tree's writer: c notes the way, for a Set or Remove at the same place that
// comes next.
func (t *Tree[E, P]) Seek(place string, c *Cursor[E, P]) (none E) {
	c.root = nil
	n := t.root
	if n == nil || place < n.low {
		return none
	}
	shared := common(place, n.low)
	for depth := 0; shared >= int(n.skip) && depth < cursorMax; depth++ {
		i, same := n.match(place)
		if n.kids == nil {
			c.root, c.place, c.steps[depth] = t.root, place, cursorStep{uint8(i), same}
			if same {
				return n.entries[i]
			}
			return none
		}
		if i == 0 && !same {
			return none
		}
		c.steps[depth] = cursorStep{uint8(i), same}
		if !same {
			i--
		}
		shared = n.sharing(i, place)
		n = n.kids[i]
	}
	return t.Get(place)
}

// Cursor is the way from a root to a place, where something stands or would stand. It holds until
// the tree is written to.
type Cursor[E comparable, P Placer[E]] struct {
	root  *node[E, P] // nil: it leads nowhere
	place string
	steps [cursorMax]cursorStep
}

// Drop makes the cursor lead nowhere.
func (c *Cursor[E, P]) Drop() { c.root = nil }

// cursorStep is what match said of a node.
type cursorStep struct {
	i    uint8
	same bool
}

// cursorMax is how deep a cursor goes: no tree that memory holds is deeper, unless most of it was
// removed.
const cursorMax = 12

// take returns the steps to a place of the tree, nil when the cursor does not lead there. A caller
// that takes them writes.
func (c *Cursor[E, P]) take(t *Tree[E, P], place string) []cursorStep {
	if c == nil {
		return nil
	}
	holds := c.root == t.root && c.place == place
	c.root = nil
	if !holds {
		return nil
	}
	return c.steps[:]
}

// Set enters e and returns what was at its place.
func (t *Tree[E, P]) Set(e E, c *Cursor[E, P]) (prev E) {
	place := placeOf[E, P](e)
	if t.root == nil {
		t.root = newLeaf[E, P](t.gen, e)
		t.len++
		return prev
	}
	w := way{place: place}
	if w.steps = c.take(t, place); w.steps == nil {
		w.shared, w.below = common(place, t.root.low), place < t.root.low
	}
	t.root = t.root.own(t.gen)
	prev, right := t.root.set(t.gen, w, e)
	var none E
	if prev == none {
		t.len++
	}
	if right != nil {
		t.root = newInner(t.gen, t.root, right)
	}
	return prev
}

// Remove takes away what is at a place, which is something.
func (t *Tree[E, P]) Remove(place string, c *Cursor[E, P]) {
	steps := c.take(t, place)
	t.root = t.root.own(t.gen)
	t.root.remove(t.gen, place, steps)
	t.len--
	for t.root.kids != nil && t.root.n == 1 {
		t.root = t.root.kids[0]
	}
	if t.root.n == 0 {
		t.root = nil
	}
}

// Ascend calls fn with the entries from a place on until it returns false, and reports whether it
// never did.
func (t *Tree[E, P]) Ascend(from string, fn func(E) bool) bool {
	return t.root == nil || t.root.ascend(from, fn)
}

// First returns the first entry of a tree that is not empty.
func (t *Tree[E, P]) First() E {
	n := t.root
	for n.kids != nil {
		n = n.kids[0]
	}
	return n.entries[0]
}

// Last returns the last entry of a tree that is not empty.
func (t *Tree[E, P]) Last() E {
	n := t.root
	for n.kids != nil {
		n = n.kids[n.n-1]
	}
	return n.entries[n.n-1]
}
