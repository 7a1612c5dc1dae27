package ddata

import "github.com/coterie-go/coterie/ddata/membership"

// progress is what the replicators of all roles report, folded into what the membership wants to
// know of the node as a whole: whether all have caught up, up to which epoch all have settled, and
// the last move of keys that each has ended.
type progress struct {
	caughtUp map[string]bool
	settled  map[string]membership.Epoch
	moved    map[string]uint16
	said     struct {
		caughtUp bool
		settled  membership.Epoch
	}
}

// report takes one role's state; it is called by the replicators' goroutines.
func (n *Node) report(role string, caughtUp bool, settled membership.Epoch) {
	n.note(role, caughtUp, settled)
	n.maybeUp()
}

func (n *Node) note(role string, caughtUp bool, settled membership.Epoch) {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := &n.progress
	p.caughtUp[role], p.settled[role] = caughtUp, settled
	all, least := true, settled
	for _, r := range n.cfg.Roles {
		all = all && p.caughtUp[r]
		least = min(least, p.settled[r])
	}
	if all != p.said.caughtUp {
		p.said.caughtUp = all
		n.members.post(membership.CaughtUp{Yes: all})
	}
	if least > p.said.settled {
		p.said.settled = least
		n.members.post(membership.Settled{Epoch: least})
	}
}

// reportMoved takes from a role's replicator that it has done its part of a move of keys. The node
// has when all roles have.
func (n *Node) reportMoved(role string, number uint16) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.progress.moved[role] = number
	for _, r := range n.cfg.Roles {
		if n.progress.moved[r] != number {
			return
		}
	}
	n.members.post(membership.Moved{Number: number})
}

// maybeUp opens Start's door once the view lists this node as Up, it has the data of its roles, and
// it holds its first lease.
func (n *Node) maybeUp() {
	n.mu.Lock()
	caughtUp := n.progress.said.caughtUp
	n.mu.Unlock()
	if m, ok := n.View().Member(n.uid); ok && caughtUp && m.Status == membership.Up && n.HoldsLease() {
		n.once.Do(func() { close(n.up) })
	}
}
