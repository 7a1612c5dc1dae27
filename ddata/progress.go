package ddata

import (
	"sync"

	"github.com/coterie-go/coterie/ddata/membership"
)

// progress is what the replicators of all roles report, folded into what the membership wants to
// know of the node as a whole: whether all have caught up, up to which epoch all have settled, and
// the last move of keys that each has ended. It is called by the replicators' goroutines.
type progress struct {
	roles []string
	post  func(membership.Input) // called in order, under mu

	mu       sync.Mutex
	caughtUp map[string]bool
	settled  map[string]membership.Epoch
	moved    map[string]uint16
	said     struct {
		caughtUp bool
		settled  membership.Epoch
	}
}

func newProgress(roles []string, post func(membership.Input)) *progress {
	return &progress{
		roles: roles, post: post, caughtUp: map[string]bool{}, settled: map[string]membership.Epoch{}, moved: map[string]uint16{},
	}
}

// note takes one role's state.
func (p *progress) note(role string, caughtUp bool, settled membership.Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.caughtUp[role], p.settled[role] = caughtUp, settled
	all, least := true, settled
	for _, r := range p.roles {
		all = all && p.caughtUp[r]
		least = min(least, p.settled[r])
	}
	if all != p.said.caughtUp {
		p.said.caughtUp = all
		p.post(membership.CaughtUp{Yes: all})
	}
	if least > p.said.settled {
		p.said.settled = least
		p.post(membership.Settled{Epoch: least})
	}
}

// noteMoved takes from a role's replicator that it has done its part of a move of keys. The node
// has when all roles have.
func (p *progress) noteMoved(role string, number uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.moved[role] = number
	for _, r := range p.roles {
		if p.moved[r] != number {
			return
		}
	}
	p.post(membership.Moved{Number: number})
}

// hasCaughtUp reports whether the data of a role is here.
func (p *progress) hasCaughtUp(role string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.caughtUp[role]
}

// allCaughtUp reports whether the membership was told that all data is here.
func (p *progress) allCaughtUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.said.caughtUp
}

// maybeUp opens Start's door once the view lists this node as Up, it has the data of its roles, and
// it holds its first lease.
func (n *Node) maybeUp() {
	if m, ok := n.View().Member(n.uid); ok && n.progress.allCaughtUp() && m.Status == membership.Up && n.HoldsLease() {
		n.life.becomeUp()
	}
}
