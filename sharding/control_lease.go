package sharding

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/protocol"
)

func (c *control) newLeaseClient(store locks.Store, name string) *leaseClient {
	return &leaseClient{ctx: c.ctx, store: store, name: name, owner: c.r.leases.owner, log: c.r.log}
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
	waitsFor := l.waitsFor
	t.waits.Store(&waitsFor)
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
