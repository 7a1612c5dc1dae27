package ddata

import "github.com/coterie-go/coterie/ddata/membership"

// progress is what the replicators of all roles report, folded into what the membership wants to know of the node as a whole:
// whether all have caught up, and up to which epoch all have settled.
type progress struct {
	caughtUp map[string]bool
	settled  map[string]membership.Epoch
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

// maybeUp opens Start's door once the view lists this node as Up, it has the data of its roles, and it holds its first lease.
func (n *Node) maybeUp() {
	n.mu.Lock()
	caughtUp := n.progress.said.caughtUp
	n.mu.Unlock()
	if m, ok := n.View().Member(n.uid); ok && caughtUp && m.Status == membership.Up && n.HoldsLease() {
		n.once.Do(func() { close(n.up) })
	}
}
