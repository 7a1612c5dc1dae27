package drivers

import (
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Progress folds what the replicators of all roles of a node report into what its membership must
// know: whether all have caught up, up to which epoch all have settled, and the last move of keys
// that each has ended.
type Progress struct {
	roles []string
	post  func(membership.Input)

	caughtUp map[string]bool
	settled  map[string]view.Epoch
	moved    map[string]uint16
	said     struct {
		caughtUp bool
		settled  view.Epoch
	}
}

// NewProgress returns the Progress of a node with these roles. Its methods call post, in order.
func NewProgress(roles []string, post func(membership.Input)) *Progress {
	return &Progress{
		roles: roles, post: post, caughtUp: map[string]bool{}, settled: map[string]view.Epoch{},
		moved: map[string]uint16{},
	}
}

// Reached takes how far a role's replicator is.
func (p *Progress) Reached(role string, caughtUp bool, settled view.Epoch) {
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

// Moved takes from a role's replicator that it has done its part of a move of keys. The node has
// when all roles have.
func (p *Progress) Moved(role string, number uint16) {
	p.moved[role] = number
	for _, r := range p.roles {
		if p.moved[r] != number {
			return
		}
	}
	p.post(membership.Moved{Number: number})
}

// CaughtUp reports whether the data of a role is here.
func (p *Progress) CaughtUp(role string) bool { return p.caughtUp[role] }

// AllCaughtUp reports whether the membership was told that all data is here.
func (p *Progress) AllCaughtUp() bool { return p.said.caughtUp }
