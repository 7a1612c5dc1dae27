package coordinator

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// A region that cannot use the store of its shards' leases, or has lost one, gets no shards for a
// while, as long as other regions can take them. It keeps the shards that run there. A shard that
// waits there for a lease is moved away once. When no other region is left, all are candidates
// again, because waiting is all that is left to do.

// passOverTime is how long such a region is passed over, in intervals between two tries to get a
// lease. Each further complaint extends it.
const passOverTime = 12

// passOver gives a region no shards for a while, if another can take them. It reports whether that
// was not so before.
func (rs *regions) passOver(u protocol.UID) (changed bool) {
	if _, already := rs.passed[u]; !already {
		changed = true
		rs.notify(protocol.Event{Kind: protocol.RegionPassedOver, Peer: u})
	}
	if len(rs.passed) == 0 {
		rs.leaseBackoff = leaseBackoff{}
	}
	rs.passed[u] = rs.now.Add(passOverTime * rs.cfg.Leases.RetryInterval)
	rs.leaseBackoff.is = rs.leaseBackoff.is || !rs.passes(u)
	return changed
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
	count int       // of shards that were moved to see
}

// leaseBackoffMost is the pause between two shards that are moved to see, at most, in times of the
// first one.
const leaseBackoffMost = 4

// mayTry reports whether a shard that waits may be moved to a region that has not complained for a
// while; trial is the shard that was moved last to see.
func (rs *regions) mayTry(s protocol.ShardID, trial *shardState) bool {
	a, first := &rs.leaseBackoff, passOverTime*rs.cfg.Leases.RetryInterval
	if a.is && a.tries && !rs.now.Before(a.began.Add(first/2)) {
		if _, in := rs.passed[trial.home]; trial.state == stateHosted && !in {
			*a = leaseBackoff{} // it has gone well
		}
	}
	switch {
	case !a.is:
		return true
	case rs.now.Before(a.next):
		return false
	}
	a.tries, a.shard, a.began = true, s, rs.now
	a.next = rs.now.Add(timer.Backoff(first, leaseBackoffMost*first, a.count))
	a.count++
	return true
}

// takeBackIn ends what is over, with the tick. It reports whether that changed anything.
func (rs *regions) takeBackIn() (changed bool) {
	for _, u := range slices.Sorted(maps.Keys(rs.passed)) {
		if !rs.now.Before(rs.passed[u]) || !rs.view.Has(u) {
			delete(rs.passed, u)
			changed = true
		}
	}
	if len(rs.passed) == 0 {
		rs.leaseBackoff = leaseBackoff{}
	}
	return changed
}

// passes reports whether a region is passed over for another.
func (rs *regions) passes(u protocol.UID) bool {
	if _, is := rs.passed[u]; !is {
		return false
	}
	for _, p := range rs.peers { // order: only looked for
		if _, is := rs.passed[p.uid]; !is && rs.eligible(p.uid) {
			return true
		}
	}
	return false
}
