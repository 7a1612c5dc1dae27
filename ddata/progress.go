package ddata

import (
	"sync"

	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// progress is the drivers.Progress of a running node, under a lock: the goroutines of the
// replicators call it.
type progress struct {
	mu sync.Mutex
	p  *drivers.Progress
}

func newProgress(roles []string, post func(membership.Input)) *progress {
	return &progress{p: drivers.NewProgress(roles, post)}
}

func (p *progress) reached(set keyspace.Dataset, caughtUp bool, settled view.Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.p.Reached(set, caughtUp, settled)
}

func (p *progress) moved(set keyspace.Dataset, number uint16) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.p.Moved(set, number)
}

func (p *progress) agreed(set keyspace.Dataset, epoch view.Epoch) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.p.Agreed(set, epoch)
}

// hasCaughtUp reports whether a dataset is here.
func (p *progress) hasCaughtUp(set keyspace.Dataset) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.CaughtUp(set)
}

// allCaughtUp reports whether the membership was told that all data is here.
func (p *progress) allCaughtUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.p.AllCaughtUp()
}

// maybeUp opens Start's door once the view lists this node as Up, it has the data of its roles, and
// it holds its first lease.
func (n *Node) maybeUp() {
	if m, ok := n.View().Member(n.uid); ok && n.progress.allCaughtUp() && m.Status == view.Up && n.HoldsLease() {
		n.life.becomeUp()
	}
}
