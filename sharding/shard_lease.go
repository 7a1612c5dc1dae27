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

// tenure is what a shard with a lease of its own has of it.
type tenure struct {
	term     atomic.Pointer[term]   // nil: not granted yet
	returned atomic.Bool            // given back after everything had stopped in order
	leaser   atomic.Pointer[leaser] // nil: nothing was asked for yet
	awaiting atomic.Pointer[string] // what the store has said

	// under counts what goes on under the lease: workers with one of its entities, and writes of its machine. The lease is given back when there is
	// nothing of it, because whoever gets it next may begin at once.
	under atomic.Int64
	quiet atomic.Pointer[func()] // to be called when nothing is under it any more
}

// holds says whether the shard may act: a handler may start, and an effect of one may happen. It reads the clock: ask at the moment of acting.
func (s *shard) holds() bool {
	return s.region.lease.Holds() && !s.expelled()
}

// expelled says that the shard has a lease of its own and does not hold it: not yet, or not any more.
func (s *shard) expelled() bool { return s.tenure != nil && !s.tenure.term.Load().open() }

// holds says whether the handler that a context belongs to may act.
func (c *handlerContext) holds(r *core) bool {
	if c.entity == nil {
		return r.lease.Holds()
	}
	return c.entity.shard.holds()
}

func (t *tenure) enter() { t.under.Add(1) }

func (t *tenure) exit() {
	if t.under.Add(-1) == 0 {
		t.settle()
	}
}

// whenQuiet calls fn, once, when nothing goes on under the lease.
func (t *tenure) whenQuiet(fn func()) {
	t.quiet.Store(&fn)
	t.settle()
}

func (t *tenure) settle() {
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

// leaser finds the one of a shard's lease. It outlives hostings, so that what one gives back the next can acquire.
func (c *control) leaser(number uint32) *leaser {
	l := c.leasers[number]
	if l == nil {
		l = c.newLeaser(c.r.leases.shards, shardLeaseName(c.r.leases.cluster, c.r.name, number))
		c.leasers[number] = l
	}
	return l
}

// leaseOp carries out what a Shard machine wants of its lease. Its release comes when nothing goes on any more.
func (c *control) leaseOp(h *hosting, op protocol.LeaseOp) {
	t := h.s.tenure
	if !op.Acquire {
		t.returned.Store(true)
		t.term.Load().close()
		c.leaser(h.s.number).release(nil, func() {
			c.post(ctlInput{do: func(time.Time) { c.toShard(h.s, protocol.LeaseReleased{Gen: op.Gen}) }})
		})
		return
	}
	l := c.leaser(h.s.number)
	t.leaser.Store(l)
	l.acquire(op.Gen, func(g *term, in any) { c.leaseTold(h, g, in.(protocol.ShardInput)) })
}

// leaseTold brings the machine an answer. The contexts of handlers end before it comes to its turn.
func (c *control) leaseTold(h *hosting, g *term, in protocol.ShardInput) {
	switch in := in.(type) {
	case protocol.LeaseRefused:
		why := in.Text
		if why == "" {
			why = "another holds it"
		}
		h.s.tenure.awaiting.Store(&why)
	case protocol.LeaseLost:
		h.s.cancelContexts(fmt.Errorf("%w: %s", ErrNoLease, in.Text))
	}
	c.post(ctlInput{do: func(time.Time) {
		if g != nil && c.shards[h.s.number] == h {
			h.s.tenure.returned.Store(false)
			h.s.tenure.term.Store(g)
		}
		c.toShard(h.s, in)
	}})
}

// retire gives back the lease of a shard that was killed, when none of its handlers runs and none of its writes is under way.
func (c *control) retire(h *hosting, reason DropReason) {
	t := h.s.tenure
	if t == nil {
		return
	}
	l := c.leaser(h.s.number)
	if reason != DropStopped { // else what runs may come to its end
		t.term.Load().close()
	}
	quiet := make(chan struct{})
	t.whenQuiet(func() {
		t.term.Load().close()
		t.whenQuiet(func() { close(quiet) }) // somebody may have begun in between
	})
	l.release(quiet, nil)
}

// returnLeases waits until what was held is given back. The error names one that was not, and says how many there are.
func (c *control) returnLeases(ctx context.Context) error {
	var first error
	left := 0
	settle := func(l *leaser) {
		if err := l.settled(ctx); err != nil {
			left++
			first = cmp.Or(first, err)
		}
	}
	for _, l := range c.allLeasers() {
		settle(l)
	}
	if left == 0 {
		return nil
	}
	return fmt.Errorf("sharding %q: %d leases were not given back, and may be held until their time has passed: %w", c.r.name, left, first)
}

// allLeasers are those of the shards and of the coordinator. The control loop must not run.
func (c *control) allLeasers() (all []*leaser) {
	for _, number := range slices.Sorted(maps.Keys(c.leasers)) {
		all = append(all, c.leasers[number])
	}
	if c.coord != nil && c.coord.leaser != nil {
		all = append(all, c.coord.leaser)
	}
	return all
}

// awaitsLease says why a shard that is hosted here does not start; empty: it does.
func (r *core) awaitsLease(number uint32) string {
	s := r.table.hosted[number].Load()
	if s == nil || s.tenure == nil {
		return ""
	}
	if g := s.tenure.term.Load(); g != nil && !g.closed.Load() {
		return ""
	}
	why := "the store has not answered yet"
	if said := s.tenure.awaiting.Load(); said != nil {
		why = *said
	}
	if l := s.tenure.leaser.Load(); l != nil {
		why = cmp.Or(l.waitsFor(), why)
	}
	return fmt.Sprintf("it waits here for the lease %q: %s", shardLeaseName(r.leases.cluster, r.name, number), why)
}
