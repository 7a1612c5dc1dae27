package protocol

import (
	"maps"
	"slices"
	"time"
)

// A region that cannot use the store of its shards' leases, or has lost one, is passed over for a while:
// shards go to others as long as there are any. It keeps what runs there, and what waits there for a lease is
// moved away once. When nobody else is left, all are candidates again, for to wait is all that is left to do.

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
		if ok && st.state == seatHosted && st.home == from && !c.view.Closing && c.mayAllocate() && !c.mayHost(from) && c.mayTry(s) {
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
	if len(c.passed) == 0 {
		c.away = away{}
	}
	c.passed[u] = c.now.Add(passOverTime * c.cfg.LeaseRetryInterval)
	c.away.is = c.away.is || !c.passes(u)
}

// away is what the coordinator does about a store that nobody can use. A region where nothing waits does not complain, and so is a candidate again after a
// while, but most likely no better than the others. So one shard alone is moved to see, and the rest of those that wait only when that has gone well.
type away struct {
	is    bool // all who could host were passed over at one time
	tries bool // shard was moved to see
	shard ShardID
	began time.Time
	next  time.Time // not before another is moved
	pause time.Duration
}

// awayPauseMost is the pause between two shards that are moved to see, at most, in times of the first one.
const awayPauseMost = 4

// mayTry says whether a shard that waits may be moved to a region that has not complained for a while.
func (c *Coordinator) mayTry(s ShardID) bool {
	a, first := &c.away, passOverTime*c.cfg.LeaseRetryInterval
	if a.is && a.tries && !c.now.Before(a.began.Add(first/2)) {
		st := &c.seats[a.shard]
		if _, in := c.passed[st.home]; st.state == seatHosted && !in {
			*a = away{} // it has gone well
		}
	}
	switch {
	case !a.is:
		return true
	case c.now.Before(a.next):
		return false
	}
	a.pause = min(max(2*a.pause, first), awayPauseMost*first)
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
		c.away = away{}
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
