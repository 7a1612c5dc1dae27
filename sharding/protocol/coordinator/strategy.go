package coordinator

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
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

// chooser asks the strategy for homes and for moves, and has homes do what it answers.
type chooser struct {
	*env
	asked asked
}

// carry is what the next term goes on with: an answer that may still come.
func (ch *chooser) carry() chooser {
	return chooser{env: ch.env, asked: asked{id: ch.asked.id, deadline: ch.asked.deadline, overdue: ch.asked.overdue}}
}

// allocateAll finds homes for the shards that need one. What the strategy sees includes every
// choice made before.
func (ch *chooser) allocateAll(h *homes) {
	if len(h.unallocated) == 0 || !h.regions.mayAllocate() {
		return
	}
	switch {
	case !allocation.Isolated(ch.cfg.Allocation.Strategy):
		ch.allocateBy(h, ch.cfg.Allocation.Strategy, ch.take(h))
	case ch.asked.overdue:
		ch.allocateBy(h, allocation.LeastShard{}, ch.take(h))
	case ch.asked.id == 0:
		ch.consult(h, ch.take(h), false)
	}
}

// allocateBy asks a strategy of package allocation at once.
func (ch *chooser) allocateBy(h *homes, s allocation.Strategy, shards []protocol.ShardID) {
	for _, id := range shards {
		if h.shards[id].state != stateWanted {
			continue
		}
		home, fault := allocation.Choose(s, ch.request(h, id), ch.allocations(h))
		if fault != nil {
			ch.onFailure(*fault)
		}
		ch.settleChoice(h, id, home)
	}
}

// settleChoice places a shard at the home that was chosen; 0: not now.
func (ch *chooser) settleChoice(h *homes, s protocol.ShardID, home protocol.UID) {
	if home == 0 || !h.regions.mayHost(home) {
		h.unallocated = append(h.unallocated, s)
		return
	}
	h.place(s, home)
}

// consult has the strategy asked beside the coordinator.
func (ch *chooser) consult(h *homes, shards []protocol.ShardID, rebalance bool) {
	q := &allocation.Consultation{ID: ch.nextID(), Rebalance: rebalance}
	for _, s := range shards {
		if h.shards[s].state == stateWanted {
			q.Requests = append(q.Requests, ch.request(h, s))
		}
	}
	if len(q.Requests) == 0 && !rebalance {
		return
	}
	if rebalance {
		q.InProgress = ch.inProgress(h)
	}
	q.Allocations = ch.allocations(h).Copy(h.picture.needs)
	ch.asked = asked{
		id: q.ID, shards: shards, rebalance: rebalance, deadline: ch.now.Add(ch.cfg.Allocation.StrategyTimeout),
	}
	ch.fx.Consult = append(ch.fx.Consult, q)
}

// maybeOverdue lets the default answer when the strategy takes too long.
func (ch *chooser) maybeOverdue(h *homes) {
	q := &ch.asked
	if q.id == 0 || q.overdue || ch.now.Before(q.deadline) {
		return
	}
	ch.counts[protocol.CountStrategy]++
	ch.notify(protocol.Event{Kind: protocol.StrategyStuck, Count: len(q.shards)})
	h.unallocated = append(h.unallocated, q.shards...)
	q.overdue, q.shards, q.rebalance = true, nil, false
}

// advised takes the answer of a strategy, as far as it still matters. What became unallocated
// meanwhile is asked next.
func (ch *chooser) advised(h *homes, a allocation.Advice, acts bool) {
	if a.ID != ch.asked.id || a.ID == 0 {
		ch.counts[protocol.CountLate]++
		return
	}
	q := ch.asked
	ch.asked = asked{}
	if !acts {
		return
	}
	for _, f := range a.Failures {
		ch.onFailure(f)
	}
	fresh := ch.take(h)
	chosen := make(map[protocol.ShardID]protocol.UID, len(a.Homes))
	for _, c := range a.Homes {
		chosen[c.Shard] = c.Home
	}
	for _, s := range q.shards {
		if h.shards[s].state == stateWanted {
			ch.settleChoice(h, s, chosen[s])
		}
	}
	if q.rebalance && ch.mayRebalance(h) {
		ch.moveAll(h, a.Moves)
	}
	if len(fresh) > 0 && h.regions.mayAllocate() {
		ch.consult(h, fresh, false)
	} else {
		h.unallocated = append(h.unallocated, fresh...)
	}
}

// onFailure reports how a strategy misbehaved.
func (ch *chooser) onFailure(f allocation.Failure) {
	ch.counts[protocol.CountStrategy]++
	if f.Panic != "" {
		ch.notify(protocol.Event{Kind: protocol.StrategyFailed, Shard: f.Shard, Text: f.Panic})
		return
	}
	ch.notify(protocol.Event{Kind: protocol.StrategyRefused, Shard: f.Shard, Peer: f.Home})
}

// rebalance asks the strategy what to move.
func (ch *chooser) rebalance(h *homes) {
	if !ch.mayRebalance(h) {
		return
	}
	if !allocation.Isolated(ch.cfg.Allocation.Strategy) {
		ch.moveAll(h, ch.cfg.Allocation.Strategy.Rebalance(ch.allocations(h), ch.inProgress(h)))
	} else if ch.asked.id == 0 {
		ch.consult(h, nil, true)
	}
}

// moveAll begins the hand-offs of one round.
func (ch *chooser) moveAll(h *homes, shards []protocol.ShardID) {
	h.picture.moving = false
	for _, s := range shards {
		if int64(s) >= int64(len(h.shards)) {
			ch.onFailure(allocation.Failure{Shard: s})
			continue
		}
		if st := &h.shards[s]; st.state == stateHosted && !st.moved {
			h.startMove(s)
			h.picture.moving = true
		}
	}
}

// mayRebalance reports whether it is a good time to move what could as well stay.
func (ch *chooser) mayRebalance(h *homes) bool {
	return ch.lease && !ch.view.Closing && h.regions.mayAllocate() &&
		!ch.now.Before(h.picture.regionsAt.Add(ch.cfg.Rebalance.Delay)) && ch.steady(h)
}

// steady reports whether rebalancing is allowed: all regions have one app version, and no member is
// unreachable or joining.
func (ch *chooser) steady(h *homes) bool {
	for _, m := range ch.view.Members {
		joins, gone := m.Status == view.Joining, ch.unreachable[m.UID]
		if joins && !ch.cfg.Rebalance.Joining || gone && !ch.cfg.Rebalance.Unreachable {
			return false
		}
	}
	rs := ch.allocations(h).Regions
	return ch.cfg.Rebalance.MixedVersions ||
		!slices.ContainsFunc(rs, func(r allocation.Region) bool { return r.AppVersion != rs[0].AppVersion })
}

// take takes the shards that need a home.
func (ch *chooser) take(h *homes) []protocol.ShardID {
	ss := h.unallocated
	h.unallocated = nil
	return ss
}

func (ch *chooser) request(h *homes, s protocol.ShardID) allocation.Request {
	r := allocation.Request{Shard: s}
	if ws := h.waiters[s]; len(ws) > 0 {
		r.Requester = ws[0]
	}
	return r
}

// inProgress are the shards that are moving or have moved and not arrived.
func (ch *chooser) inProgress(h *homes) []protocol.ShardID {
	var out []protocol.ShardID
	for i := range h.shards {
		if h.shards[i].moved {
			out = append(out, protocol.ShardID(i))
		}
	}
	return out
}

// allocations is what the strategy sees.
func (ch *chooser) allocations(h *homes) *allocation.Allocations {
	if h.picture.alloc == nil {
		var rs []allocation.Region
		for _, p := range h.regions.byUID() {
			if m, ok := h.view.Member(p.uid); ok && p.acked && !p.proxy && m.HasRole(h.cfg.Role) {
				rs = append(rs, allocation.Region{
					UID: p.uid, UpNumber: m.UpNumber, Addr: m.Addr, AppVersion: m.AppVersion,
					Leaving: !h.regions.mayHost(p.uid), Count: p.count,
				})
			}
		}
		h.picture.alloc = allocation.New(rs, len(h.shards), facts{h})
	}
	h.picture.alloc.Now, h.picture.alloc.Moving = h.now, h.picture.moving
	return h.picture.alloc
}
