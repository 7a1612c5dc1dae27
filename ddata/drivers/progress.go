package drivers

import (
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Progress folds what the replicators of a node report into what its membership must know: whether
// all have caught up, up to which epoch all have settled, the last move of keys that each has ended, and
// under which view all have agreed on the incarnations that end.
type Progress struct {
	sets []keyspace.Dataset
	post func(membership.Input)

	caughtUp map[keyspace.Dataset]bool
	settled  map[keyspace.Dataset]view.Epoch
	moved    map[keyspace.Dataset]uint16
	agreed   map[keyspace.Dataset]view.Epoch
	said     struct {
		caughtUp bool
		settled  view.Epoch
	}
}

// NewProgress returns the Progress of a node with the data of these roles. Its methods call post, in
// order.
func NewProgress(roles []string, post func(membership.Input)) *Progress {
	return &Progress{
		sets: keyspace.Datasets(roles), post: post, caughtUp: map[keyspace.Dataset]bool{},
		settled: map[keyspace.Dataset]view.Epoch{}, moved: map[keyspace.Dataset]uint16{},
		agreed: map[keyspace.Dataset]view.Epoch{},
	}
}

// Reached takes how far a dataset's replicator is.
func (p *Progress) Reached(set keyspace.Dataset, caughtUp bool, settled view.Epoch) {
	p.caughtUp[set], p.settled[set] = caughtUp, settled
	all, least := true, settled
	for _, s := range p.sets {
		all = all && p.caughtUp[s]
		least = min(least, p.settled[s])
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

// Moved takes from a dataset's replicator that it has done its part of a move of keys. The node has
// when all have.
func (p *Progress) Moved(set keyspace.Dataset, number uint16) {
	p.moved[set] = number
	for _, s := range p.sets {
		if p.moved[s] != number {
			return
		}
	}
	p.post(membership.Moved{Number: number})
}

// Agreed takes from a dataset's replicator that it has the same of the incarnations that end as all other
// members, under the view of an epoch. The node has when all have.
func (p *Progress) Agreed(set keyspace.Dataset, epoch view.Epoch) {
	p.agreed[set] = epoch
	for _, s := range p.sets {
		if p.agreed[s] != epoch {
			return
		}
	}
	p.post(membership.Agreed{Epoch: epoch})
}

// CaughtUp reports whether a dataset is here.
func (p *Progress) CaughtUp(set keyspace.Dataset) bool { return p.caughtUp[set] }

// AllCaughtUp reports whether the membership was told that all data is here.
func (p *Progress) AllCaughtUp() bool { return p.said.caughtUp }
