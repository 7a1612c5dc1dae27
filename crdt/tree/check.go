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
	if n.n == 0 || n.n > nodeMax || (n.kids == nil) == (n.entries == nil) ||
		!slices.Equal(n.leads[n.n:], blankLeads[n.n:]) {
		return fmt.Errorf("a node of %d has leads %x", n.n, n.leads)
	}
	if int(n.skip) > len(prefix) {
		prefix = n.low[:n.skip]
	}
	prev := n.low
	for i := range int(n.n) {
		p := n.at(i)
		if p < prev || i > 0 && p == prev || high != "" && p >= high {
			return fmt.Errorf("place %q stands at %d of a node for %q to %q, behind %q", p, i, n.low, high, prev)
		}
		if !strings.HasPrefix(p, prefix) || n.leads[i] != lead(p, int(n.skip)) {
			return fmt.Errorf("place %q has the lead %x after %d bytes below %q", p, n.leads[i], n.skip, prefix)
		}
		prev = p
	}
	for i := 0; n.kids != nil && i < int(n.n); i++ {
		top := high
		if i+1 < int(n.n) {
			top = n.kids[i+1].low
		}
		if err := n.kids[i].check(prefix, top); err != nil {
			return err
		}
	}
	return nil
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
