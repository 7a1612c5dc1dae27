package coordinator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// asked is the question to a strategy that is called beside the coordinator. There is one at a
// time, however long it takes.
type asked struct {
	id        uint64 // 0: none
	shards    []protocol.ShardID
	rebalance bool
	deadline  time.Time
	overdue   bool // the default answers until it has
}

// allocateAll finds homes for the shards that need one. What the strategy sees includes every
// choice made before.
func (c *Coordinator) allocateAll() {
	if len(c.unallocated) == 0 || !c.mayAllocate() {
		return
	}
	switch {
	case !allocation.Isolated(c.cfg.Strategy):
		c.allocateBy(c.cfg.Strategy, c.takeUnallocated())
	case c.asked.overdue:
		c.allocateBy(allocation.LeastShard{}, c.takeUnallocated())
	case c.asked.id == 0:
		c.consult(c.takeUnallocated(), false)
	}
}

func (c *Coordinator) takeUnallocated() []protocol.ShardID {
	ss := c.unallocated
	c.unallocated = nil
	return ss
}

// allocateBy asks a strategy of package allocation at once.
func (c *Coordinator) allocateBy(s allocation.Strategy, shards []protocol.ShardID) {
	for _, id := range shards {
		if c.shards[id].state != stateWanted {
			continue
		}
		home, fault := allocation.Choose(s, c.request(id), c.allocations())
		if fault != nil {
			c.onFault(*fault)
		}
		c.settleChoice(id, home)
	}
}

// settleChoice places a shard at the home that was chosen; 0: not now.
func (c *Coordinator) settleChoice(s protocol.ShardID, home protocol.UID) {
	if home == 0 || !c.mayHost(home) {
		c.unallocated = append(c.unallocated, s)
		return
	}
	c.place(s, home)
}

func (c *Coordinator) request(s protocol.ShardID) allocation.Request {
	r := allocation.Request{Shard: s}
	if ws := c.waiters[s]; len(ws) > 0 {
		r.Requester = ws[0]
	}
	return r
}

// consult has the strategy asked beside the coordinator.
func (c *Coordinator) consult(shards []protocol.ShardID, rebalance bool) {
	q := &allocation.Consultation{ID: c.nextID(), Rebalance: rebalance}
	for _, s := range shards {
		if c.shards[s].state == stateWanted {
			q.Requests = append(q.Requests, c.request(s))
		}
	}
	if len(q.Requests) == 0 && !rebalance {
		return
	}
	if rebalance {
		q.InProgress = c.inProgress()
	}
	q.Allocations = c.allocations().Copy(c.needs)
	c.asked = asked{id: q.ID, shards: shards, rebalance: rebalance, deadline: c.now.Add(c.cfg.StrategyTimeout)}
	c.fx.Consult = append(c.fx.Consult, q)
}

// maybeOverdue lets the default answer when the strategy takes too long.
func (c *Coordinator) maybeOverdue() {
	q := &c.asked
	if q.id == 0 || q.overdue || c.now.Before(q.deadline) {
		return
	}
	c.counts[protocol.CountStrategy]++
	c.notify(protocol.Event{Kind: protocol.StrategyStuck, Count: len(q.shards)})
	c.unallocated = append(c.unallocated, q.shards...)
	q.overdue, q.shards, q.rebalance = true, nil, false
}

// onAdvised takes the answer of a strategy, as far as it still matters. What became unallocated
// meanwhile is asked next.
func (c *Coordinator) onAdvised(a allocation.Advice) {
	if a.ID != c.asked.id || a.ID == 0 {
		c.counts[protocol.CountLate]++
		return
	}
	q := c.asked
	c.asked = asked{}
	if c.mode != active {
		return
	}
	for _, f := range a.Faults {
		c.onFault(f)
	}
	fresh := c.takeUnallocated()
	chosen := make(map[protocol.ShardID]protocol.UID, len(a.Homes))
	for _, h := range a.Homes {
		chosen[h.Shard] = h.Home
	}
	for _, s := range q.shards {
		if c.shards[s].state == stateWanted {
			c.settleChoice(s, chosen[s])
		}
	}
	if q.rebalance && c.mayRebalance() {
		c.moveAll(a.Moves)
	}
	if len(fresh) > 0 && c.mayAllocate() {
		c.consult(fresh, false)
	} else {
		c.unallocated = append(c.unallocated, fresh...)
	}
}

// onFault reports how a strategy misbehaved.
func (c *Coordinator) onFault(f allocation.Fault) {
	c.counts[protocol.CountStrategy]++
	if f.Panic != "" {
		c.notify(protocol.Event{Kind: protocol.StrategyFailed, Shard: f.Shard, Text: f.Panic})
		return
	}
	c.notify(protocol.Event{Kind: protocol.StrategyRefused, Shard: f.Shard, Peer: f.Home})
}

// rebalance asks the strategy what to move.
func (c *Coordinator) rebalance() {
	if !c.mayRebalance() {
		return
	}
	if !allocation.Isolated(c.cfg.Strategy) {
		c.moveAll(c.cfg.Strategy.Rebalance(c.allocations(), c.inProgress()))
	} else if c.asked.id == 0 {
		c.consult(nil, true)
	}
}

// moveAll begins the hand-offs of one round.
func (c *Coordinator) moveAll(shards []protocol.ShardID) {
	c.moving = false
	for _, s := range shards {
		if int64(s) >= int64(len(c.shards)) {
			c.onFault(allocation.Fault{Shard: s})
			continue
		}
		if st := &c.shards[s]; st.state == stateHosted && !st.moved {
			c.startMove(s)
			c.moving = true
		}
	}
}

// mayRebalance says whether it is a good time to move what could as well stay.
func (c *Coordinator) mayRebalance() bool {
	return c.mode == active && c.lease && !c.view.Closing && c.mayAllocate() && !c.now.Before(c.regionsAt.Add(c.cfg.RebalanceDelay)) && c.steady()
}

// steady reports whether rebalancing is allowed: all regions have one app version, and no member is
// unreachable or joining.
func (c *Coordinator) steady() bool {
	for _, m := range c.view.Members {
		joins, gone := m.Status == membership.Joining, c.unreachable[m.UID]
		if joins && !c.cfg.RebalanceJoining || gone && !c.cfg.RebalanceUnreachable {
			return false
		}
	}
	rs := c.allocations().Regions
	return c.cfg.RebalanceMixedVersions ||
		!slices.ContainsFunc(rs, func(r allocation.Region) bool { return r.AppVersion != rs[0].AppVersion })
}

// inProgress are the shards that are moving or have moved and not arrived.
func (c *Coordinator) inProgress() []protocol.ShardID {
	var out []protocol.ShardID
	for i := range c.shards {
		if c.shards[i].moved {
			out = append(out, protocol.ShardID(i))
		}
	}
	return out
}

// allocations is what the strategy sees.
func (c *Coordinator) allocations() *allocation.Allocations {
	if c.alloc == nil {
		var rs []allocation.Region
		for _, p := range c.peersByUID() {
			if m, ok := c.view.Member(p.uid); ok && p.acked && !p.proxy && m.HasRole(c.cfg.Role) {
				rs = append(rs, allocation.Region{
					UID: p.uid, UpNumber: m.UpNumber, Addr: m.Addr, AppVersion: m.AppVersion, Leaving: !c.mayHost(p.uid), Count: p.count,
				})
			}
		}
		c.alloc = allocation.New(rs, len(c.shards), facts{c})
	}
	c.alloc.Now, c.alloc.Moving = c.now, c.moving
	return c.alloc
}

// regionsChanged has what the strategy sees made anew.
func (c *Coordinator) regionsChanged() { c.alloc, c.regionsAt = nil, c.now }
