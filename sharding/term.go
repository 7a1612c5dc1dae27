package sharding

import (
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/lease"
)

// term is one hold of a lease, as those see it who act under it. It closes once and for ever.
type term struct {
	door   lease.Lease
	closed atomic.Bool
	onLost func(error)
}

// open says whether the hold lasts at this moment.
func (g *term) open() bool {
	if g == nil || g.closed.Load() {
		return false
	}
	if time.Now().Before(g.door.Until()) {
		return true
	}
	g.lose(lease.ErrNotHeld)
	return false
}

// lose closes the term, and says that it was lost, unless it is closed.
func (g *term) lose(err error) {
	if g.closed.CompareAndSwap(false, true) {
		g.onLost(err)
	}
}

func (g *term) close() {
	if g != nil {
		g.closed.Store(true)
	}
}
