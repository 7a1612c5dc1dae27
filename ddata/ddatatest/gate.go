package ddatatest

import (
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/scheduler"
)

// gate is open, or keeps back what passes. The zero value is open.
type gate struct {
	mu   sync.Mutex
	shut chan struct{} // closed when it opens; nil: it is open
}

func (g *gate) set(open bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case open && g.shut != nil:
		close(g.shut)
		g.shut = nil
	case !open && g.shut == nil:
		g.shut = make(chan struct{})
	}
}

func (g *gate) isShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut != nil
}

// pass waits until the gate is open.
func (g *gate) pass() {
	for {
		g.mu.Lock()
		shut := g.shut
		g.mu.Unlock()
		if shut == nil {
			return
		}
		<-shut
	}
}

// gated is a scheduler behind a gate.
type gated struct {
	scheduler.Goroutines
	gate *gate
}

var _ scheduler.Scheduler = gated{}

// AfterFunc implements scheduler.Clock.
func (s gated) AfterFunc(d time.Duration, fn func()) scheduler.Timer {
	return s.Goroutines.AfterFunc(d, func() {
		s.gate.pass()
		fn()
	})
}

// Go implements scheduler.Scheduler.
func (s gated) Go(fn func()) {
	s.Goroutines.Go(func() {
		s.gate.pass()
		fn()
	})
}

// Yield implements scheduler.Scheduler.
func (s gated) Yield() {
	s.Goroutines.Yield()
	s.gate.pass()
}

// Await implements scheduler.Scheduler.
func (s gated) Await(a, b, c <-chan struct{}) int {
	got := s.Goroutines.Await(a, b, c)
	s.gate.pass()
	return got
}

// gatedLease is a lease behind a gate: a process that stands still finds its lease lapsed when it goes on.
type gatedLease struct {
	host.Lease
	gate *gate
}

// Holds implements host.Lease.
func (l gatedLease) Holds() bool {
	l.gate.pass()
	return l.Lease.Holds()
}
