package crdt

// entry is what a tree holds: something that knows the string at which it stands and never changes it.
type entry interface {
	comparable
	place() string
}

func (it *Item) place() string { return it.Path }

// tree is a sorted map of entries by their places: a copy-on-write B+ tree. What it has over a general one is locality: a node knows how many leading
// bytes all its places share and keeps the next four of each side by side, so that a search compares numbers, and
// looks at no place but the one it finds, where places in memory far apart would cost a cache miss for each comparison. Nodes are freed when they are
// empty and not joined before.
//
// A node of another generation than its tree's is shared with another tree and is cloned before it is changed.
type tree[E entry] struct {
	root *node[E] // nil when empty
	len  int
	gen  uint64
}

// fork returns a tree with the same content. Both then own none of the nodes; stamps gives out generations.
func (t *tree[E]) fork(stamps *uint64) tree[E] {
	*stamps += 2
	t.gen = *stamps - 1
	return tree[E]{root: t.root, len: t.len, gen: *stamps}
}

// get returns the entry at a place, the zero E when there is none. It follows the numbers alone: a place that is there has the leading bytes of
// every node on its way, and what is found instead of one that is not there differs from it.
func (t *tree[E]) get(place string) (none E) {
	n := t.root
	if n == nil {
		return none
	}
	for {
		i, same := n.match(place)
		switch {
		case n.kids == nil && same:
			return n.entries[i]
		case n.kids == nil || i == 0 && !same:
			return none
		case !same:
			i--
		}
		n = n.kids[i]
	}
}

// set enters e and returns what was at its place.
func (t *tree[E]) set(e E) (prev E) {
	place := e.place()
	if t.root == nil {
		t.root = newLeaf(t.gen, e)
		t.len++
		return prev
	}
	t.root = t.root.own(t.gen)
	w := way{place: place, shared: common(place, t.root.low), below: place < t.root.low}
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
func (t *tree[E]) remove(place string) {
	t.root = t.root.own(t.gen)
	t.root.remove(t.gen, place)
	t.len--
	for t.root.kids != nil && t.root.n == 1 {
		t.root = t.root.kids[0]
	}
	if t.root.n == 0 {
		t.root = nil
	}
}

// ascend calls fn with the entries from a place on until it returns false, and says whether it never did.
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
