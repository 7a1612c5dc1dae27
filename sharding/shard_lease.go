package sharding

import (
	"cmp"
	"fmt"
	"sync/atomic"
)

// lease is what a shard with a lease of its own has of it.
type shardLease struct {
	hold     atomic.Pointer[leaseHold]     // nil: not granted yet
	returned atomic.Bool                   // given back after everything had stopped in order
	waits    atomic.Pointer[func() string] // says why there is no answer; nil: nothing was asked for yet
	awaiting atomic.Pointer[string]        // what the store has said

	// under counts what goes on under the lease: workers with one of its entities, and writes of
	// its machine. The lease is given back when there is nothing of it, because its next holder may
	// begin at once.
	under atomic.Int64
	quiet atomic.Pointer[func()] // to be called when nothing is under it any more
}

// holds reports whether the shard may act: a handler may start, and an effect of one may happen. It
// reads the clock: ask at the moment of acting.
func (s *shard) holds() bool {
	return s.region.lease.Holds() && !s.expelled()
}

// expelled reports whether the shard has a lease of its own and does not hold it: not yet, or not
// any more.
func (s *shard) expelled() bool { return s.lease != nil && !s.lease.hold.Load().open() }

// holds reports whether the handler that a context belongs to may act.
func (c *handlerContext) holds(r *core) bool {
	if c.entity == nil {
		return r.lease.Holds()
	}
	return c.entity.shard.holds()
}

func (t *shardLease) enter() { t.under.Add(1) }

func (t *shardLease) exit() {
	if t.under.Add(-1) == 0 {
		t.settle()
	}
}

// whenQuiet calls fn, once, when nothing goes on under the lease.
func (t *shardLease) whenQuiet(fn func()) {
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

// cancelContexts cancels what the handlers of the shard wait for.
func (s *shard) cancelContexts(cause error) {
	for _, e := range s.snapshot() {
		if x := e.extra.Load(); x != nil {
			x.cancelContext(cause)
		}
	}
}

// awaitsLease says why a shard that is hosted here does not start; empty: it does.
func (r *core) awaitsLease(number uint32) string {
	s := r.routes.hosted[number].Load()
	if s == nil || s.lease == nil {
		return ""
	}
	if g := s.lease.hold.Load(); g != nil && !g.closed.Load() {
		return ""
	}
	why := "the store has not answered yet"
	if said := s.lease.awaiting.Load(); said != nil {
		why = *said
	}
	if waitsFor := s.lease.waits.Load(); waitsFor != nil {
		why = cmp.Or((*waitsFor)(), why)
	}
	return fmt.Sprintf("it waits here for the lease %q: %s", shardLeaseName(r.leases.cluster, r.name, number), why)
}
