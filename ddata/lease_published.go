package ddata

import (
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/membership/nodelease"
)

// publishedLease is the node's lease as everything on the node reads it. Its methods may be called
// from any goroutine.
type publishedLease struct {
	now atomic.Pointer[nodelease.Lease] // never nil
}

// endedLease is what a node publishes last. It is told apart by its address.
var endedLease nodelease.Lease

func (p *publishedLease) init() { p.now.Store(&nodelease.Lease{}) }

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
