package coordinator

import (
	"maps"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// onInstall takes a view. The shards of a member that is gone get new homes at once: the view that
// dropped it proves that its lease is over.
func (c *Coordinator) onInstall(v *membership.View) {
	if c.view != nil && v.Epoch <= c.view.Epoch {
		c.counts[protocol.CountStale]++
		return
	}
	c.view = v
	for _, u := range slices.Sorted(maps.Keys(c.unreachable)) {
		if !v.Has(u) {
			delete(c.unreachable, u)
		}
	}
	maps.DeleteFunc(c.absent, func(u protocol.UID, _ bool) bool { return !v.Has(u) })
	oldest, ok := v.Oldest(c.cfg.Role)
	if may := c.mayAct(v); !ok || oldest.UID != c.cfg.Self || c.resigned || !may {
		if c.mode != idle {
			c.becomeIdle()
		}
		return
	}
	c.me = oldest
	switch c.mode {
	case idle:
		c.becomeLeaseWaiting()
	case inquiring:
		c.forgetReports()
	case active:
		c.regionsChanged()
		c.dropGone()
		c.drainLeaving()
		c.allocateAll()
	}
}

// forgetReports goes on with a takeover in a new view: a member that is gone hosts nothing.
func (c *Coordinator) forgetReports() {
	gone := func(u protocol.UID) bool { return !c.view.Has(u) }
	c.takeover.awaiting = slices.DeleteFunc(c.takeover.awaiting, gone)
	maps.DeleteFunc(c.takeover.reports, func(u protocol.UID, _ *gathered) bool { return gone(u) })
	c.maybeActivate()
}

func (c *Coordinator) dropGone() {
	var gone []protocol.UID
	for _, p := range c.peersByUID() {
		m, ok := c.view.Member(p.uid)
		if !ok {
			gone = append(gone, p.uid)
			delete(c.peers, p.uid)
		} else if m.Status == membership.Leaving {
			p.leaving = true
		}
	}
	if len(gone) == 0 {
		return
	}
	c.writeRegions(nil, gone)
	for i := range c.shards {
		if st := &c.shards[i]; st.home != 0 && !c.view.Has(st.home) {
			c.rests(protocol.ShardID(i))
			c.lose(protocol.ShardID(i), c.view.Closing)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(c.moves)) {
		m := c.moves[s]
		m.waiting = slices.DeleteFunc(m.waiting, func(u protocol.UID) bool { return !c.view.Has(u) })
		c.maybeStopping(s, m)
	}
}

// onRegister joins a region or proxy. It is told so when a majority knows it, because from then on
// it routes: each later coordinator must make it fence.
func (c *Coordinator) onRegister(from protocol.UID, r protocol.Register) {
	m, ok := c.view.Member(from)
	if !ok || m.Status == membership.Joining {
		c.counts[protocol.CountIgnored]++
		return
	}
	if c.sayMismatch(m, r.Proxy, r.Compatibility) {
		c.out.send(from, protocol.Refused{Compatibility: c.cfg.Compatibility()})
		return
	}
	delete(c.absent, from)
	said := peer{uid: from, life: r.Life, joined: r.Joined, proxy: r.Proxy || !m.HasRole(c.cfg.Role), leaving: r.Leaving || m.Status == membership.Leaving}
	if p := c.peers[from]; p != nil {
		c.registerAgain(p, said)
		return
	}
	c.peers[from] = &said
	c.writeRegions([]protocol.UID{from}, nil)
}

// registerAgain takes the word of a member that is registered: of the same region, or of a later
// one, if the type was started again there.
func (c *Coordinator) registerAgain(p *peer, said peer) {
	if said.life < p.life {
		c.counts[protocol.CountLate]++
		return
	}
	later := said.life > p.life
	if later {
		p.life, p.proxy, p.leaving, p.left, p.sure = said.life, said.proxy, said.leaving, false, false
		c.regionsChanged()
	}
	p.joined = said.joined
	if p.acked {
		c.welcome(p)
	}
	if !p.joined {
		c.rehost(p)
	}
	if later {
		c.allocateAll()
	}
}

// sayMismatch says whether the settings of a region are others than this coordinator's, and tells
// of it, once for each. Such a region is not registered: it routes nothing to others and is never
// told to host.
func (c *Coordinator) sayMismatch(m membership.Member, proxy bool, theirs protocol.Compatibility) bool {
	own := c.cfg.Compatibility().ForRegion(theirs, m, c.cfg.Role, proxy)
	if own == theirs {
		delete(c.refused, m.UID)
		return false
	}
	if !c.refused[m.UID] {
		maps.DeleteFunc(c.refused, func(u protocol.UID, _ bool) bool { return !c.view.Has(u) })
		c.refused[m.UID] = true
		c.notify(protocol.Event{Kind: protocol.TypeMismatch, Peer: m.UID, Text: own.Differences(theirs, "there")})
	}
	return true
}

// rehost commands a region that was started again, and hosts nothing any more, to host what its
// predecessor on that node did. One that has answered a command has joined before that, so it
// cannot be the same. One that is not the first of its node obeys no command from before its
// registration.
func (c *Coordinator) rehost(p *peer) {
	for i := range c.shards {
		if st := &c.shards[i]; st.home == p.uid && (st.state == stateHosted || p.life > 0 && (st.state == stateHosting || st.state == stateWriting)) {
			c.place(protocol.ShardID(i), p.uid)
		}
	}
}

func (c *Coordinator) onRegionWritten(u protocol.UID) {
	p := c.peers[u]
	if p == nil || p.acked {
		return
	}
	p.acked = true
	c.regionsChanged()
	c.welcome(p)
	if c.mode == active {
		c.allocateAll()
	}
}

// welcome tells a region that it is registered, and in the same message of the hand-offs in
// progress, for which it must buffer from the first: their audience does not hold it. With more of
// them than a message takes it has to ask again. One that joins for the first time learns of all
// homes.
func (c *Coordinator) welcome(p *peer) {
	m := protocol.Registered{Floor: c.floor, Since: protocol.Token{Epoch: uint64(c.view.Epoch), Up: c.me.UpNumber, Seq: c.seq}, Life: p.life}
	for _, s := range slices.Sorted(maps.Keys(c.moves)) {
		if c.shards[s].home != p.uid {
			m.Moves = append(m.Moves, c.asMove(s))
		}
	}
	if len(m.Moves) > protocol.MovesMax {
		return
	}
	c.out.send(p.uid, m)
	p.told = c.ticks
	if p.joined {
		return
	}
	for i := range c.shards {
		if st := &c.shards[i]; st.state == stateHosting || st.state == stateHosted {
			c.out.home(p.uid, protocol.Entry{Shard: protocol.ShardID(i), Home: st.home, Token: st.token})
		}
	}
}

// onConfirm notes that a region knows that it is registered. From now on it may be given shards.
// Before that it could leave without asking, and a shard that it was given meanwhile would be
// refused.
func (c *Coordinator) onConfirm(from protocol.UID, m protocol.Confirm) {
	p := c.peers[from]
	if p == nil || m.Life != p.life {
		c.counts[protocol.CountLate]++
		return
	}
	if p.sure {
		return
	}
	p.sure = true
	c.regionsChanged()
	c.allocateAll()
}

// retryWelcomes repeats Registered to regions that have not confirmed it.
func (c *Coordinator) retryWelcomes() {
	for _, p := range c.peersByUID() {
		if p.acked && !p.sure && !p.leaving && !p.proxy && p.told+1 < c.ticks {
			c.counts[protocol.CountRetries]++
			c.welcome(p)
		}
	}
}

// onAbsentReport takes the word of a member on which the type was not started: it hosts nothing,
// and what will be started there obeys no earlier coordinator.
func (c *Coordinator) onAbsentReport(from protocol.UID, m protocol.AbsentReport) {
	if m.Floor != c.floor || c.peers[from] != nil {
		c.counts[protocol.CountLate]++
		return
	}
	c.absent[from] = true
	if c.mode == inquiring {
		c.takeover.awaiting = protocol.Without(c.takeover.awaiting, from)
		c.maybeActivate()
	}
}

func (c *Coordinator) writeRegions(add, remove []protocol.UID) {
	c.out.addRegions = append(c.out.addRegions, add...)
	c.out.removeRegions = append(c.out.removeRegions, remove...)
}

// onLeaveRequest moves the shards of a leaving region away, or tells the region that no other
// region can take them.
func (c *Coordinator) onLeaveRequest(from protocol.UID, m protocol.LeaveRequest) {
	p := c.peers[from]
	if p == nil {
		c.out.send(from, protocol.LeaveReply{Done: true, Life: m.Life, Floor: c.floor})
		return
	}
	if m.Life < p.life {
		c.counts[protocol.CountLate]++
		return
	}
	p.leaving, p.left, p.life = true, p.left || m.Left, m.Life
	c.regionsChanged()
	if m.Left {
		for i := range c.shards {
			if c.shards[i].home == from {
				c.lose(protocol.ShardID(i), m.Closing || c.view.Closing)
			}
		}
		c.allocateAll()
		c.out.send(from, protocol.LeaveReply{Done: true, Life: m.Life, Floor: c.floor})
		return
	}
	c.askUnheard()
	switch nobody := c.nobodyElse(); {
	case !slices.ContainsFunc(c.shards, func(st shardState) bool { return st.home == from }):
		c.out.send(from, protocol.LeaveReply{Done: true, Alone: nobody, Life: m.Life, Floor: c.floor})
	case c.view.Closing:
		c.out.send(from, protocol.LeaveReply{Alone: true, Life: m.Life, Floor: c.floor})
	case !nobody:
		c.drain(p)
	case c.leavesView(from):
		c.out.send(from, protocol.LeaveReply{Alone: true, Life: m.Life, Floor: c.floor})
	default:
		c.rest(p)
	}
}

// rest stops every shard of a closed region whose node stays, when no other region can take them.
// The shards are handed off without a new home. If the region stopped them by itself, messages that
// others still send to it could be overtaken: a later region of the node could pass them on.
func (c *Coordinator) rest(p *peer) {
	if c.now.Before(p.drainAt) {
		return
	}
	for i := range c.shards {
		if st := &c.shards[i]; st.home == p.uid && st.state == stateHosted {
			c.startMove(protocol.ShardID(i))
			c.moves[protocol.ShardID(i)].ends = true
		}
	}
}

func (c *Coordinator) leavesView(u protocol.UID) bool {
	m, ok := c.view.Member(u)
	return !ok || m.Status == membership.Leaving
}

// unheard says whether a member has not told yet that it runs the type, or that it does not.
func (c *Coordinator) unheard(u protocol.UID) bool { return c.peers[u] == nil && !c.absent[u] }

// askUnheard asks those that could host.
func (c *Coordinator) askUnheard() {
	for _, m := range c.view.Members {
		if m.HasRole(c.cfg.Role) && m.Status == membership.Up && c.unheard(m.UID) {
			c.inquire(m.UID)
		}
	}
}

// nobodyElse says whether no member can host that is not leaving, now or when it has joined.
func (c *Coordinator) nobodyElse() bool {
	return !slices.ContainsFunc(c.view.Members, func(m membership.Member) bool {
		if !m.HasRole(c.cfg.Role) || m.Status == membership.Leaving || c.refused[m.UID] {
			return false
		}
		p := c.peers[m.UID]
		return c.unheard(m.UID) || p != nil && !p.leaving && !p.proxy
	})
}

func (c *Coordinator) drainLeaving() {
	for _, p := range c.peersByUID() {
		if p.leaving && !c.now.Before(p.drainAt) {
			c.drain(p)
		}
	}
}

// drain moves every shard of a region away, all at one time.
func (c *Coordinator) drain(p *peer) {
	if c.view.Closing || c.now.Before(p.drainAt) || p.count == 0 || !c.mayAllocate() {
		return
	}
	for i := range c.shards {
		if st := &c.shards[i]; st.home == p.uid && st.state == stateHosted {
			c.startMove(protocol.ShardID(i))
		}
	}
}
