package ddata

import (
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/nodelease"
)

// publishedLease is the node's lease as everything on the node reads it. Its methods may be called
// from any goroutine.
type publishedLease struct {
	now    atomic.Pointer[nodelease.Lease] // never nil
	began  time.Time                       // of the node's monotonic time
	looked atomic.Int64                    // when the lease held by both clocks last, since began
}

// wallEvery is for how much monotonic time a look at the wall clock serves. The two differ only after the
// machine was suspended: then handlers of before start for no longer than this before it is noticed. To read
// both clocks for each message costs twice as much.
const wallEvery = 50 * time.Microsecond

// endedLease is what a node publishes last. It is told apart by its address.
var endedLease nodelease.Lease

func (p *publishedLease) init() {
	p.now.Store(&nodelease.Lease{})
	p.began = time.Now()
	p.looked.Store(-int64(wallEvery))
}

// holds reads the clock: does the lease hold at this moment?
func (p *publishedLease) holds() bool {
	l := p.now.Load()
	// the clock is a good part of what a message to an entity costs
	return l.Forever() || p.holdsAt(l, time.Since(p.began), time.Now)
}

// holdsAt is holds of a lease at a monotonic time since began; both reads both clocks.
func (p *publishedLease) holdsAt(l *nodelease.Lease, at time.Duration, both func() time.Time) bool {
	if at-time.Duration(p.looked.Load()) < wallEvery {
		return l.Outlasts(p.began.Add(at))
	}
	if !l.Holds(both()) {
		return false
	}
	p.looked.Store(int64(at))
	return true
}

// set publishes a lease, unless the node has ended.
//
// The machine is stepped until the node has released everything, and goes on renewing its lease.
// The compare keeps such a step from publishing what end has taken back.
func (p *publishedLease) set(l nodelease.Lease) {
	if was := p.now.Load(); was != &endedLease {
		p.now.CompareAndSwap(was, &l)
	}
}

// end takes the lease back for good.
func (p *publishedLease) end() { p.now.Store(&endedLease) }
