package protocol

// With Config.CoordinatorLease the coordinator has a lease in a store outside of the cluster. It
// begins a reign with it, and none without; when it is lost, what it has begun is left to the next
// reign, which asks everybody, as after any other takeover.

// becomeLeaseWaiting begins a reign with the lease.
func (c *Coordinator) becomeLeaseWaiting() {
	if !c.cfg.CoordinatorLease {
		c.becomeReading()
		return
	}
	c.mode = leaseWaiting
	c.acquire()
}

// onResign ends the reign, and is the last of them here.
func (c *Coordinator) onResign() {
	c.resigned = true
	if c.mode != idle {
		c.becomeIdle()
	}
}

func (c *Coordinator) acquire() {
	c.fx.Lease = append(c.fx.Lease, c.leaseState.acquire(c.now, c.cfg.LeaseRetryInterval))
}

func (c *Coordinator) releaseLease() {
	if op, ok := c.leaseState.release(); ok {
		c.fx.Lease = append(c.fx.Lease, op)
	}
}

// onLeaseAnswer begins the reign with the lease, or waits on. A lost one ends the reign, and the
// next one begins after a pause.
func (c *Coordinator) onLeaseAnswer(in CoordinatorInput) {
	switch what, text := c.leaseState.hear(in, c.now, c.cfg.LeaseRetryInterval); what {
	case heardGranted:
		c.becomeReading()
	case heardRefused:
		c.counts[countLeaseRefused]++
		c.waits(text)
	case heardLost:
		c.counts[countLeaseLost]++
		c.notify(Event{Kind: CoordinatorLeaseLost, Text: text})
		c.becomeIdle()
		c.mode = leaseWaiting
		c.leaseState.postpone(c.now.Add(c.cfg.LeaseRetryInterval))
	default:
		c.counts[countLate]++
	}
}

func (c *Coordinator) waits(text string) {
	if c.leaseState.announceWaiting() {
		c.notify(Event{Kind: CoordinatorLeaseAwaited, Text: text})
	}
}

// onLeaseDue tries again, or says that the present try takes long.
func (c *Coordinator) onLeaseDue() {
	if op, try := c.leaseState.advance(c.now, c.cfg.LeaseRetryInterval); try {
		c.fx.Lease = append(c.fx.Lease, op)
		return
	}
	c.waits("the store does not answer")
}
