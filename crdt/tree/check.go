package tree

import (
	"fmt"
	"slices"
	"strings"
)

// Check returns the first place that a search would miss.
func (t *Tree[E, P]) Check() error {
	if t.root == nil {
		return nil
	}
	if n := t.root.count(); n != t.len {
		return fmt.Errorf("a tree of %d holds %d", t.len, n)
	}
	return t.root.check("", "")
}

// check holds the node against the places that it may have: those that begin with prefix, from its
// low on, and below high unless that is empty.
func (n *node[E, P]) check(prefix, high string) error {
	prefix, err := n.checkOwn(prefix, high, 0, int(n.n))
	if err != nil {
		return err
	}
	for i := 0; n.kids != nil && i < int(n.n); i++ {
		if err := n.kids[i].check(prefix, n.top(i, high)); err != nil {
			return err
		}
	}
	return nil
}

// top returns below which place the i-th kid's places are; high is that of the node.
func (n *node[E, P]) top(i int, high string) string {
	if i+1 < int(n.n) {
		return n.kids[i+1].low
	}
	return high
}

// checkOwn is check of the node alone, in which all that stands before from, and from to on, is right beside
// what stands there too. It returns what the places of its kids begin with.
func (n *node[E, P]) checkOwn(prefix, high string, from, to int) (string, error) {
	if n.n == 0 || n.n > nodeMax || (n.kids == nil) == (n.entries == nil) ||
		!slices.Equal(n.leads[n.n:], blankLeads[n.n:]) {
		return "", fmt.Errorf("a node of %d has leads %x", n.n, n.leads)
	}
	if int(n.skip) > len(prefix) {
		prefix = n.low[:n.skip]
	}
	for i := 0; i < int(n.n); i++ {
		if i == 1 { // the ends hold to prefix and high what stands between
			i = max(i, min(from, int(n.n)-1))
		} else if i > to {
			i = max(i, int(n.n)-1)
		}
		p, prev := n.at(i), n.low
		if i > 0 {
			prev = n.at(i - 1)
		}
		if p < prev || i > 0 && p == prev || high != "" && p >= high {
			return "", fmt.Errorf("place %q stands at %d of a node for %q to %q, behind %q", p, i, n.low, high, prev)
		}
		if !strings.HasPrefix(p, prefix) || n.leads[i] != lead(p, int(n.skip)) {
			return "", fmt.Errorf("place %q has the lead %x after %d bytes below %q", p, n.leads[i], n.skip, prefix)
		}
	}
	return prefix, nil
}

// count counts the entries below the node.
func (n *node[E, P]) count() int {
	if n.kids == nil {
		return int(n.n)
	}
	sum := 0
	for _, kid := range n.kids[:n.n] {
		sum += kid.count()
	}
	return sum
}

// CheckSince is Check, without the count, for a tree that shares nodes with another in which Check has found
// nothing: it looks at those that it does not share.
func (t *Tree[E, P]) CheckSince(right *Tree[E, P]) error {
	if t.root == nil || t.root == right.root {
		return nil
	}
	return t.root.checkSince(right, t.root.height(), "", "")
}

// checkSince is check of the nodes that are not seen to be in a right tree.
func (n *node[E, P]) checkSince(right *Tree[E, P], height int, prefix, high string) error {
	front, back, from, to := 0, 0, 0, int(n.n)
	if o := right.nodeFor(n.low, height); o != nil {
		if front, back = n.sameEnds(o); n.sameLeads(o, front, back) {
			from, to = front, int(n.n)-back
		}
	}
	prefix, err := n.checkOwn(prefix, high, from, to)
	if err != nil || n.kids == nil {
		return err
	}
	for i, kid := range n.kids[:n.n] {
		top := n.top(i, high)
		shared := i < front || i >= int(n.n)-back
		switch {
		case !shared:
			err = kid.checkSince(right, height-1, prefix, top)
		case i+1 == front || i+1 == int(n.n): // there it stood before another one
			err = kid.checkEnd(prefix, top)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sameLeads reports whether a node has the leads of another for what both hold at their ends.
func (n *node[E, P]) sameLeads(o *node[E, P], front, back int) bool {
	return n.skip == o.skip && slices.Equal(n.leads[:front], o.leads[:front]) &&
		slices.Equal(n.leads[int(n.n)-back:n.n], o.leads[int(o.n)-back:o.n])
}

// checkEnd holds the last place below a right node against what is below high and begins with prefix.
func (n *node[E, P]) checkEnd(prefix, high string) error {
	for n.kids != nil {
		n = n.kids[n.n-1]
	}
	if p := n.at(int(n.n) - 1); high != "" && p >= high || !strings.HasPrefix(p, prefix) {
		return fmt.Errorf("place %q stands at the end of a node below %q and to %q", p, prefix, high)
	}
	return nil
}

// nodeFor returns the node of a height that holds, or would hold, a place; nil if there is none.
func (t *Tree[E, P]) nodeFor(place string, height int) *node[E, P] {
	n := t.root
	if n == nil || n.height() < height {
		return nil
	}
	for h := n.height(); h > height; h-- {
		i, _ := slices.BinarySearchFunc(n.kids[:n.n], place, func(kid *node[E, P], place string) int {
			if kid.low <= place {
				return -1
			}
			return 1
		})
		n = n.kids[max(0, i-1)]
	}
	return n
}
