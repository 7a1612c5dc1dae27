package protocol

import (
	"maps"
	"slices"
)

// A region that cannot use the store of its shards' leases, or has lost one, is passed over for a while: shards go to others as long as there are any. It keeps
// what runs there, and what waits there for a lease is moved away once. When nobody else is left, all are candidates again, for to wait is all that is left to do.

// passOverTime is how long, in intervals between two tries to get a lease. Whoever goes on complaining goes on being passed over.
const passOverTime = 12

// onUnable moves shards away from a region that cannot use the store of their leases.
func (c *Coordinator) onUnable(from UID, shards []ShardID) {
	if p := c.peers[from]; p == nil || !c.cfg.Lease {
		c.counts[countForeign]++
		return
	}
	c.passOver(from)
	for _, s := range shards {
		st, ok := c.at(s)
		if ok && st.state == seatHosted && st.home == from && !c.view.Closing && c.mayAllocate() && !c.mayHost(from) {
			c.startMove(s)
		}
	}
}

// passOver gives a region no shards for a while, if another can take them.
func (c *Coordinator) passOver(u UID) {
	if _, already := c.passed[u]; !already {
		c.alloc = nil
		c.notify(Event{Kind: RegionPassedOver, Peer: u})
	}
	c.passed[u] = c.now.Add(passOverTime * c.cfg.LeaseRetryInterval)
}

// takeBackIn ends what is over, with the tick.
func (c *Coordinator) takeBackIn() {
	for _, u := range slices.Sorted(maps.Keys(c.passed)) {
		if !c.now.Before(c.passed[u]) || !c.view.Has(u) {
			delete(c.passed, u)
			c.alloc = nil
		}
	}
}

// passes says whether a region is passed over for another.
func (c *Coordinator) passes(u UID) bool {
	if _, is := c.passed[u]; !is {
		return false
	}
	for _, p := range c.peers { // order: only looked for
		if _, is := c.passed[p.uid]; !is && c.able(p.uid) {
			return true
		}
	}
	return false
}
