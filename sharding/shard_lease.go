package sharding

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// lease is what a shard with a lease of its own has of it.
type shardLease struct {
	hold     atomic.Pointer[leaseHold]   // nil: not granted yet
	returned atomic.Bool                 // given back after everything had stopped in order
	client   atomic.Pointer[leaseClient] // nil: nothing was asked for yet
	awaiting atomic.Pointer[string]      // what the store has said

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

// leaseClient finds the one of a shard's lease. It outlives hostings, so that what one gives back
// the next can acquire.
func (c *control) leaseClientOf(number uint32) *leaseClient {
	l := c.leaseClients[number]
	if l == nil {
		l = c.newLeaseClient(c.r.leases.shards, shardLeaseName(c.r.leases.cluster, c.r.name, number))
		c.leaseClients[number] = l
	}
	return l
}

// leaseOp carries out what a Shard machine wants of its lease. Its release comes when nothing goes
// on any more.
func (c *control) leaseOp(h *hosting, op protocol.LeaseOp) {
	t := h.s.lease
	if !op.Acquire {
		t.returned.Store(true)
		t.hold.Load().close()
		c.leaseClientOf(h.s.number).release(nil, func() {
			c.post(ctlInput{do: func(time.Time) { c.toShard(h.s, protocol.LeaseReleased{Gen: op.Gen}) }})
		})
		return
	}
	l := c.leaseClientOf(h.s.number)
	t.client.Store(l)
	l.acquire(op.Gen, func(g *leaseHold, in any) { c.leaseTold(h, g, in.(protocol.ShardInput)) })
}

// leaseTold brings the machine an answer. The contexts of handlers end before it comes to its turn.
func (c *control) leaseTold(h *hosting, g *leaseHold, in protocol.ShardInput) {
	switch in := in.(type) {
	case protocol.LeaseRefused:
		why := in.Text
		if why == "" {
			why = "another holds it"
		}
		h.s.lease.awaiting.Store(&why)
	case protocol.LeaseLost:
		h.s.cancelContexts(fmt.Errorf("%w: %s", ErrNoLease, in.Text))
	}
	c.post(ctlInput{do: func(time.Time) {
		if g != nil && c.shards[h.s.number] == h {
			h.s.lease.returned.Store(false)
			h.s.lease.hold.Store(g)
		}
		c.toShard(h.s, in)
	}})
}

// retire gives back the lease of a shard that was killed, when none of its handlers runs and none
// of its writes is under way.
func (c *control) retire(h *hosting, reason DropReason) {
	t := h.s.lease
	if t == nil {
		return
	}
	l := c.leaseClientOf(h.s.number)
	if reason != DropStopped { // else what runs may come to its end
		t.hold.Load().close()
	}
	quiet := make(chan struct{})
	t.whenQuiet(func() {
		t.hold.Load().close()
		t.whenQuiet(func() { close(quiet) }) // work may have begun in between
	})
	l.release(quiet, nil)
}

// returnLeases waits until what was held is given back. The error names one that was not, and says
// how many there are.
func (c *control) returnLeases(ctx context.Context) error {
	var first error
	left := 0
	settle := func(l *leaseClient) {
		if err := l.settled(ctx); err != nil {
			left++
			first = cmp.Or(first, err)
		}
	}
	for _, l := range c.allLeaseClients() {
		settle(l)
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("sharding %q: %d leases were not given back, and may be held until their time has passed: %w", c.r.name, left, first)
}

// allLeaseClients are those of the shards and of the coordinator. The control loop must not run.
func (c *control) allLeaseClients() (all []*leaseClient) {
	for _, number := range slices.Sorted(maps.Keys(c.leaseClients)) {
		all = append(all, c.leaseClients[number])
	}
	if c.coord != nil && c.coord.leaseClient != nil {
		all = append(all, c.coord.leaseClient)
	}
	return all
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
	if l := s.lease.client.Load(); l != nil {
		why = cmp.Or(l.waitsFor(), why)
	}
	return fmt.Sprintf("it waits here for the lease %q: %s", shardLeaseName(r.leases.cluster, r.name, number), why)
}
