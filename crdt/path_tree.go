package crdt

import (
	"fmt"
	"slices"
	"strings"
)

// pathTree is the siblings of one big key by path: a copy-on-write B+ tree. What it has over a general one is locality: a node knows how many
// leading bytes its paths share and keeps the next eight of each side by side, so that a search compares numbers and looks at
// about one path per node, where paths in memory far apart would cost a cache miss for each comparison. Nodes are freed when they
// are empty and not joined before.
//
// A node of another generation than its tree's is shared with another tree and is cloned before it is changed.
type pathTree struct {
	root  *pathNode // nil when empty
	paths int
	gen   uint64
}

// pathNode is a leaf with cells, or an inner node with kids and the lowest path that each may hold; lows ascend, and the first kid may hold paths
// below its low.
type pathNode struct {
	gen   uint64
	skip  int      // how many leading bytes are common to all paths of the node
	leads []uint64 // per path, the eight bytes after those, zeros beyond the end
	cells []cell   // of a leaf
	lows  []string // of an inner node
	kids  []*pathNode
}

// pathNodeMax is how many paths a node holds at most.
const pathNodeMax = 64

// fork returns a tree with the same content. Both then own none of the nodes; stamps gives out generations.
func (t *pathTree) fork(stamps *uint64) *pathTree {
	*stamps += 2
	t.gen = *stamps - 1
	return &pathTree{root: t.root, paths: t.paths, gen: *stamps}
}

// get returns the siblings at path, an empty cell when there are none.
func (t *pathTree) get(path string) cell {
	if t.root == nil {
		return cell{}
	}
	n := t.root
	for n.kids != nil {
		n = n.kids[n.kidFor(path)]
	}
	if i, ok := n.match(path); ok {
		return n.cells[i]
	}
	return cell{}
}

// set puts c, which is not empty, at path and returns what was there.
func (t *pathTree) set(path string, c cell) (prev cell) {
	if t.root == nil {
		t.root = &pathNode{gen: t.gen}
	}
	t.root = t.root.own(t.gen)
	prev, right := t.root.set(t.gen, path, c)
	if prev.first == nil {
		t.paths++
	}
	if right != nil {
		left := t.root
		t.root = &pathNode{gen: t.gen, lows: []string{left.path(0), right.path(0)}, kids: []*pathNode{left, right}}
		t.root.fit()
	}
	return prev
}

// remove takes away what is at path, which is something.
func (t *pathTree) remove(path string) {
	t.root = t.root.own(t.gen)
	t.root.remove(t.gen, path)
	t.paths--
	for t.root != nil && len(t.root.kids) == 1 {
		t.root = t.root.kids[0]
	}
	if t.root.len() == 0 {
		t.root = nil
	}
}

// ascend calls fn with the cells from path on until it returns false.
func (t *pathTree) ascend(path string, fn func(cell) bool) {
	if t.root != nil {
		t.root.ascend(path, fn)
	}
}

// edges returns the first and the last cell of a tree that is not empty.
func (t *pathTree) edges() (first, last cell) {
	lo, hi := t.root, t.root
	for lo.kids != nil {
		lo, hi = lo.kids[0], hi.kids[len(hi.kids)-1]
	}
	return lo.cells[0], hi.cells[len(hi.cells)-1]
}

func (n *pathNode) len() int {
	if n.kids != nil {
		return len(n.kids)
	}
	return len(n.cells)
}

func (n *pathNode) path(i int) string {
	if n.kids != nil {
		return n.lows[i]
	}
	return n.cells[i].first.Path
}

// own returns the node itself when it is of the generation, else a clone with room for one more.
func (n *pathNode) own(gen uint64) *pathNode {
	if n.gen == gen {
		return n
	}
	c := &pathNode{gen: gen, skip: n.skip, leads: roomy(n.leads)}
	if n.kids != nil {
		c.lows, c.kids = roomy(n.lows), roomy(n.kids)
	} else {
		c.cells = roomy(n.cells)
	}
	return c
}

func roomy[T any](s []T) []T { return append(make([]T, 0, len(s)+1), s...) }

// lead returns the eight bytes of path after skip as a number that sorts like them.
func lead(path string, skip int) (l uint64) {
	if len(path)-skip >= 8 {
		p := path[skip : skip+8]
		return uint64(p[7]) | uint64(p[6])<<8 | uint64(p[5])<<16 | uint64(p[4])<<24 |
			uint64(p[3])<<32 | uint64(p[2])<<40 | uint64(p[1])<<48 | uint64(p[0])<<56
	}
	for i := skip; i < skip+8; i++ {
		l <<= 8
		if i < len(path) {
			l |= uint64(path[i])
		}
	}
	return l
}

// common returns how many leading bytes a and b share.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}

// fit computes skip and leads anew.
func (n *pathNode) fit() {
	n.skip = common(n.path(0), n.path(n.len()-1))
	n.leads = n.leads[:0]
	for i := range n.len() {
		n.leads = append(n.leads, lead(n.path(i), n.skip))
	}
}

// match returns where path stands, or where it would stand if it begins as all paths of the node do. It trusts the numbers and looks at
// paths only where they tie.
func (n *pathNode) match(path string) (int, bool) {
	if len(path) < n.skip {
		return 0, false
	}
	l := lead(path, n.skip)
	lo, hi := 0, len(n.leads)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if n.leads[m] < l {
			lo = m + 1
		} else {
			hi = m
		}
	}
	end := lo
	for end < len(n.leads) && n.leads[end] == l {
		end++
	}
	for hi = end; lo < hi; {
		m := int(uint(lo+hi) >> 1)
		switch p := n.path(m); {
		case p == path:
			return m, true
		case p < path:
			lo = m + 1
		default:
			hi = m
		}
	}
	return lo, false
}

// search returns the index of the first path not below the given one, and whether it is the same.
func (n *pathNode) search(path string) (int, bool) {
	i, same := n.match(path)
	if same || len(n.leads) == 0 {
		return i, same
	}
	near := n.path(min(i, len(n.leads)-1))
	if shared := near[:n.skip]; !strings.HasPrefix(path, shared) { // the numbers said nothing
		if path < shared {
			return 0, false
		}
		return len(n.leads), false
	}
	return i, false
}

// kidFor returns the index of the kid that holds path if any does.
func (n *pathNode) kidFor(path string) int {
	i, same := n.search(path)
	if same || i == 0 {
		return i
	}
	return i - 1
}

// entered brings leads up to date after path has been entered at i. Only a new first or last path can shorten what all share.
func (n *pathNode) entered(i int, path string) {
	if n.len() == 1 || i == 0 && common(path, n.path(1)) < n.skip || i == n.len()-1 && common(path, n.path(0)) < n.skip {
		n.fit()
		return
	}
	n.leads = slices.Insert(n.leads, i, lead(path, n.skip))
}

// set is pathTree.set below a node that the tree owns; right is the node's new neighbour when it had to split.
func (n *pathNode) set(gen uint64, path string, c cell) (prev cell, right *pathNode) {
	if n.kids == nil {
		i, same := n.search(path)
		if same {
			prev, n.cells[i] = n.cells[i], c
			return prev, nil
		}
		n.cells = slices.Insert(n.cells, i, c)
		n.entered(i, path)
		return cell{}, n.split(gen, i)
	}
	k := n.kidFor(path)
	n.kids[k] = n.kids[k].own(gen)
	prev, r := n.kids[k].set(gen, path, c)
	if r == nil {
		return prev, nil
	}
	low := r.path(0)
	n.kids, n.lows = slices.Insert(n.kids, k+1, r), slices.Insert(n.lows, k+1, low)
	if k == 0 { // it may hold paths below its low, and so may the neighbour that it has just got
		n.lows[0] = n.kids[0].path(0)
		n.fit()
	} else {
		n.entered(k+1, low)
	}
	return prev, n.split(gen, k+1)
}

// split moves the upper half of an overfull node to a new neighbour; after an entry at the very end it moves only that, so that
// paths that come in order fill their nodes.
func (n *pathNode) split(gen uint64, entered int) *pathNode {
	count := n.len()
	if count <= pathNodeMax {
		return nil
	}
	at := count / 2
	if entered == count-1 {
		at = entered
	}
	r := &pathNode{gen: gen}
	if n.kids != nil {
		r.kids, r.lows = slices.Clone(n.kids[at:]), slices.Clone(n.lows[at:])
		n.kids, n.lows = slices.Delete(n.kids, at, count), slices.Delete(n.lows, at, count)
	} else {
		r.cells = slices.Clone(n.cells[at:])
		n.cells = slices.Delete(n.cells, at, count)
	}
	r.fit()
	n.fit()
	return r
}

func (n *pathNode) remove(gen uint64, path string) {
	if n.kids == nil {
		if i, ok := n.search(path); ok {
			n.cells = slices.Delete(n.cells, i, i+1)
			n.leads = slices.Delete(n.leads, i, i+1)
		}
		return
	}
	k := n.kidFor(path)
	n.kids[k] = n.kids[k].own(gen)
	n.kids[k].remove(gen, path)
	if n.kids[k].len() == 0 {
		n.kids, n.lows = slices.Delete(n.kids, k, k+1), slices.Delete(n.lows, k, k+1)
		n.leads = slices.Delete(n.leads, k, k+1)
	}
}

func (n *pathNode) ascend(path string, fn func(cell) bool) bool {
	if n.kids == nil {
		i, _ := n.search(path)
		for _, c := range n.cells[i:] {
			if !fn(c) {
				return false
			}
		}
		return true
	}
	for _, kid := range n.kids[n.kidFor(path):] {
		if !kid.ascend(path, fn) {
			return false
		}
		path = "" // the next ones are above it altogether
	}
	return true
}

// check returns the first path that a search would miss.
func (t *pathTree) check() error {
	if t.root == nil {
		return nil
	}
	return t.root.check("", "")
}

// check holds the node against the paths that it may have: from low on, and below high unless that is empty.
func (n *pathNode) check(low, high string) error {
	for i := range n.len() {
		p := n.path(i)
		first := i == 0 && n.kids != nil
		if i > 0 && p <= n.path(i-1) || p < low && !first || high != "" && p >= high {
			return fmt.Errorf("path %q stands at %d of a node for %q to %q, behind %q", p, i, low, high, n.path(max(0, i-1)))
		}
		if len(p) < n.skip || n.leads[i] != lead(p, n.skip) || !strings.HasPrefix(p, n.path(0)[:n.skip]) {
			return fmt.Errorf("path %q has the lead %x after %d bytes", p, n.leads[i], n.skip)
		}
	}
	for i, kid := range n.kids {
		from, to := low, high
		if i > 0 {
			from = n.lows[i]
		}
		if i+1 < len(n.kids) {
			to = n.lows[i+1]
		}
		if err := kid.check(from, to); err != nil {
			return err
		}
	}
	return nil
}
