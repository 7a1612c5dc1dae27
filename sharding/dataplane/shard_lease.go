package dataplane

import (
	"cmp"
	"fmt"
	"sync/atomic"
)

// lease is what a shard with a lease of its own has of it.
type shardLease struct {
	Hold     atomic.Pointer[LeaseHold]     // nil: not granted yet
	Returned atomic.Bool                   // given back after everything had stopped in order
	Waits    atomic.Pointer[func() string] // says why there is no answer; nil: nothing was asked for yet
	Awaiting atomic.Pointer[string]        // what the store has said

	// under counts what goes on under the lease: workers with one of its entities, and writes of
	// its machine. The lease is given back when there is nothing of it, because its next holder may
	// begin at once.
	under atomic.Int64
	quiet atomic.Pointer[func()] // to be called when nothing is under it any more
}

// Holds reports whether the shard may act: a handler may start, and an effect of one may happen. It
// reads the clock: ask at the moment of acting.
func (s *Shard) Holds() bool {
	return s.region.Lease.Holds() && !s.Expelled()
}

// Expelled reports whether the shard has a lease of its own and does not hold it: not yet, or not
// any more.
func (s *Shard) Expelled() bool { return s.Lease != nil && !s.Lease.Hold.Load().Open() }

// Holds reports whether the handler that a context belongs to may act.
func (c *handlerContext) Holds(r *Plane) bool {
	if c.entity == nil {
		return r.Lease.Holds()
	}
	return c.entity.Shard.Holds()
}

func (t *shardLease) Enter() { t.under.Add(1) }

func (t *shardLease) Exit() {
	if t.under.Add(-1) == 0 {
		t.settle()
	}
}

// WhenQuiet calls fn, once, when nothing goes on under the lease.
func (t *shardLease) WhenQuiet(fn func()) {
	t.quiet.Store(&fn)
	t.settle()
}

func (t *shardLease) settle() {
	if t.under.Load() > 0 {
		return
	}
	if fn := t.quiet.Swap(nil); fn != nil {
		(*fn)()
	}
}

// CancelContexts cancels what the handlers of the shard wait for.
func (s *Shard) CancelContexts(cause error) {
	for _, e := range s.snapshot() {
		if x := e.Extra.Load(); x != nil {
			x.cancelContext(cause)
		}
	}
}

// AwaitsLease says why a shard that is hosted here does not start; empty: it does.
func (r *Plane) AwaitsLease(number uint32) string {
	s := r.Routes.Hosted[number].Load()
	if s == nil || s.Lease == nil {
		return ""
	}
	if g := s.Lease.Hold.Load(); g != nil && !g.closed.Load() {
		return ""
	}
	why := "the store has not answered yet"
	if said := s.Lease.Awaiting.Load(); said != nil {
		why = *said
	}
	if waitsFor := s.Lease.Waits.Load(); waitsFor != nil {
		why = cmp.Or((*waitsFor)(), why)
	}
	return fmt.Sprintf("it waits here for the lease %q: %s", ShardLeaseName(r.Leases.Cluster, r.Name, number), why)
}
