package crdt

// entry is what a tree holds: something that knows the string at which it stands and never changes
// it.
type entry interface {
	comparable
	place() string
}

func (it *Item) place() string { return it.Path }

// tree is a sorted map of entries by their places: a copy-on-write B+ tree. What it has over a
// general one is locality. A node knows how many leading bytes all its places share, and keeps the
// next four of each side by side. So a search compares numbers, and looks at no place except the
// one that it finds. Places lie far apart in memory, and each comparison of two would cost a cache
// miss. Nodes are freed when they are empty and not joined before.
//
// A node of another generation than its tree's is shared with another tree and is cloned before it
// is changed.
type tree[E entry] struct {
	root *node[E] // nil when empty
	len  int
	gen  uint64
}

// fork returns a tree with the same content. Both then own none of the nodes; stamps gives out
// generations.
func (t *tree[E]) fork(stamps *uint64) tree[E] {
	*stamps += 2
	t.gen = *stamps - 1
	return tree[E]{root: t.root, len: t.len, gen: *stamps}
}

// get returns the entry at a place, the zero E when there is none.
func (t *tree[E]) get(place string) (none E) {
	if leaf, i := t.find(place); leaf != nil {
		return leaf.entries[i]
	}
	return none
}

// replace enters e if something is at its place, in a leaf that the tree owns: then it owns all
// nodes on the way. It reports whether that is so.
func (t *tree[E]) replace(e E) bool {
	leaf, i := t.find(e.place())
	if leaf == nil || leaf.gen != t.gen {
		return false
	}
	leaf.entries[i] = e
	return true
}

// find returns where the entry at a place stands, nil when there is none. It follows the numbers
// alone: a place that is there has the leading bytes of every node on its way, and what is found
// instead of one that is not there differs from it. Only where numbers tie are places compared on
// the way.
func (t *tree[E]) find(place string) (leaf *node[E], at int) {
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
	case n.entries[i].place() == place:
		return n, i
	}
	return nil, 0
}

// seek is get for the tree's writer: c notes the way, for a set or remove at the same place that
// comes next.
func (t *tree[E]) seek(place string, c *cursor[E]) (none E) {
	c.root = nil
	n := t.root
	if n == nil || place < n.low {
		return none
	}
	w := way{place: place, shared: common(place, n.low)}
	for depth := 0; w.shared >= int(n.skip) && depth < cursorMax; depth++ {
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
		w, i = n.onward(w, i, same)
		n = n.kids[i]
	}
	return t.get(place)
}

// cursor is the way from a root to a place, where something stands or would stand. It holds until
// the tree is written to.
type cursor[E entry] struct {
	root  *node[E] // nil: it leads nowhere
	place string
	steps [cursorMax]cursorStep
}

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
func (c *cursor[E]) take(t *tree[E], place string) []cursorStep {
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

// set enters e and returns what was at its place.
func (t *tree[E]) set(e E, c *cursor[E]) (prev E) {
	place := e.place()
	if t.root == nil {
		t.root = newLeaf(t.gen, e)
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

// remove takes away what is at a place, which is something.
func (t *tree[E]) remove(place string, c *cursor[E]) {
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

// ascend calls fn with the entries from a place on until it returns false, and reports whether it
// never did.
func (t *tree[E]) ascend(from string, fn func(E) bool) bool {
	return t.root == nil || t.root.ascend(from, fn)
}

// edges returns the first and the last entry of a tree that is not empty.
func (t *tree[E]) edges() (first, last E) {
	lo, hi := t.root, t.root
	for lo.kids != nil {
		lo, hi = lo.kids[0], hi.kids[hi.n-1]
	}
	return lo.entries[0], hi.entries[hi.n-1]
}
