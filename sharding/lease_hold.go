package sharding

import (
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// hold is one hold of a lease, as those see it that act under it. It closes once and never opens
// again.
type leaseHold struct {
	lock   locks.Lock
	closed atomic.Bool
	onLost func(error)
}

// open reports whether the hold lasts at this moment.
func (g *leaseHold) open() bool {
	if g == nil || g.closed.Load() {
		return false
	}
	if time.Now().Before(g.lock.Until()) {
		return true
	}
	g.lose(locks.ErrNotHeld)
	return false
}

// lose closes the term, and says that it was lost, unless it is closed.
func (g *leaseHold) lose(err error) {
	if g.closed.CompareAndSwap(false, true) {
		g.onLost(err)
	}
}

func (g *leaseHold) close() {
	if g != nil {
		g.closed.Store(true)
	}
}
