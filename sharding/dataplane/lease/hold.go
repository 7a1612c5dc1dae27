package lease

import (
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// Hold is one hold of a lease, as those see it that act under it. It closes once and never opens
// again.
type Hold struct {
	now    func() time.Time
	lock   locks.Lock
	closed atomic.Bool
	onLost func(error)
}

// NewHold makes a hold of a lock. onLost is called, once, when it turns out that the hold is over.
func NewHold(now func() time.Time, lock locks.Lock, onLost func(error)) *Hold {
	return &Hold{now: now, lock: lock, onLost: onLost}
}

// Open reports whether the hold lasts at this moment.
func (g *Hold) Open() bool {
	if g == nil || g.closed.Load() {
		return false
	}
	if g.now().Before(g.lock.Until()) {
		return true
	}
	g.Lose(locks.ErrNotHeld)
	return false
}

// Lose closes the term, and says that it was lost, unless it is closed.
func (g *Hold) Lose(err error) {
	if g.closed.CompareAndSwap(false, true) {
		g.onLost(err)
	}
}

// Close ends the hold without a word.
func (g *Hold) Close() {
	if g != nil {
		g.closed.Store(true)
	}
}
