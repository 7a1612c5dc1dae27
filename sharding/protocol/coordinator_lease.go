package protocol

import "time"

// With Config.CoordinatorLease the coordinator has a lease in a store outside of the cluster. It begins a reign with it, and none without; when it is lost,
// what it has begun is left to the next reign, which asks everybody, as after any other takeover.

// becomeClaiming begins a reign with the lease.
func (c *Coordinator) becomeClaiming() {
	if !c.cfg.CoordinatorLease {
		c.becomeReading()
		return
	}
	c.mode = claiming
	c.acquire()
}

func (c *Coordinator) acquire() {
	c.fx.Lease = append(c.fx.Lease, c.claim.acquire(c.now, c.cfg.LeaseRetryInterval))
}

func (c *Coordinator) releaseLease() {
	if op, ok := c.claim.release(); ok {
		c.fx.Lease = append(c.fx.Lease, op)
	}
}

func (c *Coordinator) onLeaseGranted(gen uint64) {
	if !c.claim.granted(gen) {
		c.counts[countLate]++
		return
	}
	c.becomeReading()
}

func (c *Coordinator) onLeaseRefused(gen uint64, text string) {
	if !c.claim.refused(gen, c.now, c.cfg.LeaseRetryInterval) {
		c.counts[countLate]++
		return
	}
	c.counts[countLeaseRefused]++
	c.waits(text)
}

func (c *Coordinator) waits(text string) {
	if c.claim.longing() {
		c.notify(Event{Kind: CoordinatorLeaseAwaited, Text: text})
	}
}

// onLeaseDue tries again, or says that the present try takes long.
func (c *Coordinator) onLeaseDue() {
	switch {
	case c.claim.state == claimRefused:
		c.acquire()
	default:
		c.claim.due = time.Time{}
		c.waits("the store does not answer")
	}
}

// onLeaseLost ends the reign, and begins the next one after a pause.
func (c *Coordinator) onLeaseLost(gen uint64, text string) {
	switch {
	case c.claim.state == claimAsked && gen == c.claim.gen:
		c.onLeaseRefused(gen, text)
	case c.claim.lost(gen):
		c.counts[countLeaseLost]++
		c.notify(Event{Kind: CoordinatorLeaseLost, Text: text})
		c.becomeIdle()
		c.mode = claiming
		c.claim.postpone(c.now.Add(c.cfg.LeaseRetryInterval))
	default:
		c.counts[countLate]++
	}
}
