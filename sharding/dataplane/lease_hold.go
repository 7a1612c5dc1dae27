package dataplane

import (
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// LeaseHold is one hold of a lease, as those see it that act under it. It closes once and never opens
// again.
type LeaseHold struct {
	Now    func() time.Time
	Lock   locks.Lock
	closed atomic.Bool
	OnLost func(error)
}

// Open reports whether the hold lasts at this moment.
func (g *LeaseHold) Open() bool {
	if g == nil || g.closed.Load() {
		return false
	}
	if g.Now().Before(g.Lock.Until()) {
		return true
	}
	g.Lose(locks.ErrNotHeld)
	return false
}

// Lose closes the term, and says that it was lost, unless it is closed.
func (g *LeaseHold) Lose(err error) {
	if g.closed.CompareAndSwap(false, true) {
		g.OnLost(err)
	}
}

// Close ends the hold without a word.
func (g *LeaseHold) Close() {
	if g != nil {
		g.closed.Store(true)
	}
}
