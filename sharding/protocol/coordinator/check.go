package coordinator

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Check reports every broken invariant of the coordinator.
func (c *Coordinator) Check() error {
	var f protocol.Violations
	f.Check((c.mode <= leaseWaiting) == (c.shards == nil), "mode %s with the states of %d shards", modeNames[c.mode], len(c.shards))
	f.Check(c.mode <= leaseWaiting || !c.cfg.CoordinatorLease || c.leaseState.Held(), "a reign while the lease is %s", c.leaseState)
	f.Check(c.mode == idle || c.view != nil && c.me.UID == c.cfg.Self, "a reign without a view")
	counts := map[protocol.UID]int{}
	unallocated := map[protocol.ShardID]bool{}
	for _, s := range slices.Concat(c.unallocated, c.asked.shards) {
		unallocated[s] = true
	}
	for i := range c.shards {
		c.checkShard(&f, protocol.ShardID(i), &c.shards[i])
		f.Check(c.shards[i].state != stateWanted || unallocated[protocol.ShardID(i)], "shard %d is wanted and not among the unallocated", i)
		if c.shards[i].counts() {
			counts[c.shards[i].home]++
		}
	}
	for _, p := range c.peersByUID() {
		f.Check(p.count == counts[p.uid], "region %v counts %d shards, has %d", p.uid, p.count, counts[p.uid])
		f.Check(c.view.Has(p.uid), "region %v is no member", p.uid)
	}
	if c.alloc != nil {
		for _, r := range c.alloc.Regions {
			f.Check(r.Count == counts[r.UID], "the strategy sees %d shards of %v, it has %d", r.Count, r.UID, counts[r.UID])
		}
	}
	f.Check(c.needs.Loads == (c.records != nil) || c.mode <= leaseWaiting, "records of %d shards", len(c.records))
	for _, s := range slices.Sorted(maps.Keys(c.departed)) {
		f.Check(c.shards[s].moved, "shard %v is on its way, and did not move", s)
	}
	for _, s := range slices.Sorted(maps.Keys(c.moves)) {
		st := c.shards[s].state
		f.Check(st == stateFencing || st == stateStopping, "hand-off of shard %v, which is %s", s, shardStepNames[st])
	}
	return f.Err()
}

func (c *Coordinator) checkShard(f *protocol.Violations, s protocol.ShardID, st *shardState) {
	f.Check((st.home != 0) == (st.state > stateEnded), "shard %v is %s with home %v", s, shardStepNames[st.state], st.home)
	f.Check(st.state <= stateEnded || !st.token.IsZero(), "shard %v is %s without a token", s, shardStepNames[st.state])
	moving := st.state == stateFencing || st.state == stateStopping
	f.Check(moving == (c.moves[s] != nil), "shard %v is %s, hand-off %v", s, shardStepNames[st.state], c.moves[s] != nil)
	if m := c.moves[s]; m != nil {
		f.Check(st.token.Less(m.id), "shard %v: hand-off %v is not above the entry's %v", s, m.id, st.token)
		f.Check(st.state == stateFencing || len(m.waiting) == 0, "shard %v is stopping and waits for answers to Begin", s)
	}
	f.Check(st.home == 0 || c.view.Has(st.home), "shard %v lives on %v, which is no member", s, st.home)
}

// String prints the state of the coordinator; shards that live somewhere quietly are only counted.
func (c *Coordinator) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "coordinator %s lease=%v", modeNames[c.mode], c.lease)
	if c.mode <= leaseWaiting {
		return b.String()
	}
	fmt.Fprintf(&b, " floor=%v", c.floor)
	for _, p := range c.peersByUID() {
		fmt.Fprintf(&b, " %v:%d", p.uid, p.count)
		if p.leaving {
			b.WriteString("(leaving)")
		}
	}
	for i := range c.shards {
		if st := &c.shards[i]; st.state != stateUnallocated && st.state != stateHosted {
			fmt.Fprintf(&b, "\n  %d %s %v@%v", i, shardStepNames[st.state], st.home, st.token)
			if m := c.moves[protocol.ShardID(i)]; m != nil {
				fmt.Fprintf(&b, " hand-off %v waiting%s", m.id, protocol.ListText(m.waiting))
			}
		}
	}
	return b.String()
}
