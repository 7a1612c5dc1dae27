package coordinator

import (
	"github.com/coterie-go/coterie/sharding/protocol"
)

// With Config.Leases.Coordinator the coordinator has a lease in a store outside of the cluster. It
// begins a term with it, and none without; when it is lost, what it has begun is left to the next
// term, which asks every member, as after any other takeover.

// becomeLeaseWaiting begins a term with the lease.
func (c *Coordinator) becomeLeaseWaiting() {
	if !c.cfg.CoordinatorTakesLease() {
		c.term.becomeReading()
		return
	}
	c.term.mode = leaseWaiting
	c.acquire()
}

// onResign ends the term, and is the last of them here.
func (c *Coordinator) onResign() {
	c.resigned = true
	if c.term.mode != idle {
		c.becomeIdle()
	}
}

func (c *Coordinator) acquire() {
	c.fx.Lease = append(c.fx.Lease, c.leaseState.Acquire(c.now, c.cfg.Leases.RetryInterval))
}

func (c *Coordinator) releaseLease() {
	if op, ok := c.leaseState.Release(); ok {
		c.fx.Lease = append(c.fx.Lease, op)
	}
}

// onLeaseAnswer begins the term with the lease, or waits on. A lost one ends the term, and the
// next one begins after a pause.
func (c *Coordinator) onLeaseAnswer(in protocol.CoordinatorInput) {
	switch what, text := c.leaseState.Hear(in, c.now, c.cfg.Leases.RetryInterval); what {
	case protocol.HeardGranted:
		c.term.becomeReading()
	case protocol.HeardRefused:
		c.counts[protocol.CountLeaseRefused]++
		c.waits(text)
	case protocol.HeardLost:
		c.counts[protocol.CountLeaseLost]++
		c.notify(protocol.Event{Kind: protocol.CoordinatorLeaseLost, Text: text})
		c.becomeIdle()
		c.term.mode = leaseWaiting
		c.leaseState.Postpone(c.now.Add(c.cfg.Leases.RetryInterval))
	default:
		c.counts[protocol.CountLate]++
	}
}

func (c *Coordinator) waits(text string) {
	if c.leaseState.AnnounceWaiting() {
		c.notify(protocol.Event{Kind: protocol.CoordinatorLeaseAwaited, Text: text})
	}
}

// onLeaseDue tries again, or says that the present try takes long.
func (c *Coordinator) onLeaseDue() {
	if op, try := c.leaseState.Advance(c.now, c.cfg.Leases.RetryInterval); try {
		c.fx.Lease = append(c.fx.Lease, op)
		return
	}
	c.waits("the store does not answer")
}
