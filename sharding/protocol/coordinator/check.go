package coordinator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Check reports every broken invariant of the coordinator; of each shard the first.
func (c *Coordinator) Check() error {
	var f protocol.Violations
	h := &c.term.homes
	f.Check((c.term.mode <= leaseWaiting) == (h.shards == nil), "mode %s with the states of %d shards",
		modeNames[c.term.mode], len(h.shards))
	f.Check(c.term.mode <= leaseWaiting || !c.cfg.CoordinatorTakesLease() || c.leaseState.Held(),
		"a term while the lease is %s", c.leaseState)
	f.Check(c.term.mode == idle || c.view != nil && c.me.UID == c.cfg.Self, "a term without a view")
	unallocated := setOf(h.unallocated, c.term.chooser.asked.shards)
	counts := map[protocol.UID]int{}
	for i := range h.shards {
		if err := h.checkShard(protocol.ShardID(i), unallocated); err != nil {
			f = append(f, err)
		}
		if h.shards[i].counts() {
			counts[h.shards[i].home]++
		}
	}
	if err := h.byHome.check(h.shards); err != nil {
		f = append(f, err)
	}
	for _, p := range h.regions.peers { // order: any that is wrong
		if p.count != counts[p.uid] || !c.view.Has(p.uid) {
			f = append(f, fmt.Errorf("region %v counts %d shards, has %d, is a member: %t",
				p.uid, p.count, counts[p.uid], c.view.Has(p.uid)))
		}
	}
	if h.picture.alloc != nil {
		for _, r := range h.picture.alloc.Regions {
			if r.Count != counts[r.UID] {
				f = append(f, fmt.Errorf("the strategy sees %d shards of %v, it has %d", r.Count, r.UID, counts[r.UID]))
			}
		}
	}
	f.Check(h.picture.needs.Loads == (h.picture.records != nil) || c.term.mode <= leaseWaiting,
		"records of %d shards", len(h.picture.records))
	for s := range h.departed { // order: any that is wrong
		if !h.shards[s].moved {
			f = append(f, fmt.Errorf("shard %v is on its way, and did not move", s))
		}
	}
	for s := range h.moves { // order: any that is wrong
		if st := h.shards[s].state; st != stateFencing && st != stateStopping {
			f = append(f, fmt.Errorf("hand-off of shard %v, which is %s", s, shardStepNames[st]))
		}
	}
	return f.Err()
}

// setOf is the set of the shards of two lists, which mostly are empty.
func setOf(a, b []protocol.ShardID) (all map[protocol.ShardID]bool) {
	if len(a)+len(b) == 0 {
		return nil
	}
	all = make(map[protocol.ShardID]bool, len(a)+len(b))
	for _, s := range slices.Concat(a, b) {
		all[s] = true
	}
	return all
}

// checkShard is the first broken invariant of a shard. There are many shards: what is right costs no memory.
func (h *homes) checkShard(s protocol.ShardID, unallocated map[protocol.ShardID]bool) error {
	st, m := &h.shards[s], h.moves[s]
	switch moving := st.state == stateFencing || st.state == stateStopping; {
	case (st.home != 0) != (st.state > stateEnded):
		return fmt.Errorf("shard %v is %s with home %v", s, shardStepNames[st.state], st.home)
	case st.state > stateEnded && st.token.IsZero():
		return fmt.Errorf("shard %v is %s without a token", s, shardStepNames[st.state])
	case moving != (m != nil):
		return fmt.Errorf("shard %v is %s, hand-off %v", s, shardStepNames[st.state], m != nil)
	case moving && !st.token.Less(m.id):
		return fmt.Errorf("shard %v: hand-off %v is not above the entry's %v", s, m.id, st.token)
	case st.state == stateStopping && m.waiting.count != 0:
		return fmt.Errorf("shard %v is stopping and waits for answers to Begin", s)
	case st.home != 0 && !h.view.Has(st.home):
		return fmt.Errorf("shard %v lives on %v, which is no member", s, st.home)
	case st.state == stateWanted && !unallocated[s]:
		return fmt.Errorf("shard %v is wanted and not among the unallocated", s)
	}
	return nil
}

// String prints the state of the coordinator; shards that live somewhere quietly are only counted.
func (c *Coordinator) String() string {
	var b strings.Builder
	h := &c.term.homes
	fmt.Fprintf(&b, "coordinator %s lease=%v", modeNames[c.term.mode], c.lease)
	if c.term.mode <= leaseWaiting {
		return b.String()
	}
	fmt.Fprintf(&b, " floor=%v", c.term.registrar.floor)
	for _, p := range h.regions.byUID() {
		fmt.Fprintf(&b, " %v:%d", p.uid, p.count)
		if p.leaving {
			b.WriteString("(leaving)")
		}
	}
	for i := range h.shards {
		if st := &h.shards[i]; st.state != stateUnallocated && st.state != stateHosted {
			fmt.Fprintf(&b, "\n  %d %s %v@%v", i, shardStepNames[st.state], st.home, st.token)
			if m := h.moves[protocol.ShardID(i)]; m != nil {
				fmt.Fprintf(&b, " hand-off %v waiting%s", m.id, protocol.ListText(m.waiting.list()))
			}
		}
	}
	return b.String()
}
