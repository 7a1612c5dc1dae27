package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// A region that cannot use the store of its shards' leases, or has lost one, gets no shards for a
// while, as long as other regions can take them. It keeps the shards that run there. A shard that
// waits there for a lease is moved away once. When no other region is left, all are candidates
// again, because waiting is all that is left to do.

// passOverTime is how long such a region is passed over, in intervals between two tries to get a
// lease. Each further complaint extends it.
const passOverTime = 12

// onUnable moves shards away from a region that cannot use the store of their leases.
func (c *Coordinator) onUnable(from protocol.UID, shards []protocol.ShardID) {
	if p := c.peers[from]; p == nil || !c.cfg.Lease {
		c.counts[protocol.CountOtherRole]++
		return
	}
	c.passOver(from)
	for _, s := range shards {
		st, ok := c.at(s)
		if ok && st.state == stateHosted && st.home == from && !c.view.Closing && c.mayAllocate() && !c.mayHost(from) && c.mayTry(s) {
			c.startMove(s)
		}
	}
}

// passOver gives a region no shards for a while, if another can take them.
func (c *Coordinator) passOver(u protocol.UID) {
	if _, already := c.passed[u]; !already {
		c.alloc = nil
		c.notify(protocol.Event{Kind: protocol.RegionPassedOver, Peer: u})
	}
	if len(c.passed) == 0 {
		c.leaseBackoff = leaseBackoff{}
	}
	c.passed[u] = c.now.Add(passOverTime * c.cfg.LeaseRetryInterval)
	c.leaseBackoff.is = c.leaseBackoff.is || !c.passes(u)
}

// leaseBackoff is what the coordinator does about a store that no region can use. A region where
// nothing waits does not complain, so it becomes a candidate again after a while. Most likely it is
// no better than the others. So the coordinator moves one shard as a trial. It moves the rest of
// the waiting shards only when the trial has succeeded.
type leaseBackoff struct {
	is    bool // all regions that could host were passed over at one time
	tries bool // shard was moved to see
	shard protocol.ShardID
	began time.Time
	next  time.Time // not before another is moved
	pause time.Duration
}

// leaseBackoffMost is the pause between two shards that are moved to see, at most, in times of the
// first one.
const leaseBackoffMost = 4

// mayTry says whether a shard that waits may be moved to a region that has not complained for a
// while.
func (c *Coordinator) mayTry(s protocol.ShardID) bool {
	a, first := &c.leaseBackoff, passOverTime*c.cfg.LeaseRetryInterval
	if a.is && a.tries && !c.now.Before(a.began.Add(first/2)) {
		st := &c.shards[a.shard]
		if _, in := c.passed[st.home]; st.state == stateHosted && !in {
			*a = leaseBackoff{} // it has gone well
		}
	}
	switch {
	case !a.is:
		return true
	case c.now.Before(a.next):
		return false
	}
	a.pause = min(max(2*a.pause, first), leaseBackoffMost*first)
	a.tries, a.shard, a.began, a.next = true, s, c.now, c.now.Add(a.pause)
	return true
}

// takeBackIn ends what is over, with the tick.
func (c *Coordinator) takeBackIn() {
	for _, u := range slices.Sorted(maps.Keys(c.passed)) {
		if !c.now.Before(c.passed[u]) || !c.view.Has(u) {
			delete(c.passed, u)
			c.alloc = nil
		}
	}
	if len(c.passed) == 0 {
		c.leaseBackoff = leaseBackoff{}
	}
}

// passes says whether a region is passed over for another.
func (c *Coordinator) passes(u protocol.UID) bool {
	if _, is := c.passed[u]; !is {
		return false
	}
	for _, p := range c.peers { // order: only looked for
		if _, is := c.passed[p.uid]; !is && c.eligible(p.uid) {
			return true
		}
	}
	return false
}
