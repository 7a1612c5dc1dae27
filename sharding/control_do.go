package sharding

import (
	"maps"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/protocol"
	shardmachine "github.com/coterie-go/coterie/sharding/protocol/shard"
)

// regionEffects carries out what a step of the Region asks for.
func (c *control) regionEffects(fx *protocol.RegionEffects) {
	for _, a := range fx.Do {
		c.regionAction(a)
	}
	for _, e := range fx.Send {
		c.send(e)
	}
	for _, e := range fx.Notify {
		if e.Kind == protocol.TypeMismatch {
			c.r.standing.refused(e.Text)
		}
		c.notify(e)
	}
	if len(fx.AtRest) > 0 {
		c.atRest(fx.AtRest)
	}
	if fx.Left {
		c.hasLeft = true
		c.r.standing.leaves()
		c.maybeLeft()
	}
}

// maybeLeft ends leave once the region has left and what found no room is on its way.
func (c *control) maybeLeft() {
	if !c.hasLeft || len(c.flushes) > 0 || len(c.fences) > 0 {
		return
	}
	select {
	case <-c.left:
	default:
		close(c.left)
	}
}

func (c *control) regionAction(a protocol.RegionAction) {
	switch a := a.(type) {
	case protocol.SetRoute:
		c.setRoute(uint32(a.Shard), a.Route)
	case protocol.FlushBuffer:
		if !c.r.routes.flush(uint32(a.Shard)) {
			c.later(uint32(a.Shard))
		}
	case protocol.DropBuffer:
		c.r.routes.dropBuffer(uint32(a.Shard), reasonOf(a.Reason))
	case protocol.SendFence:
		c.fence(a)
	case protocol.StartShard:
		c.startShard(uint32(a.Shard), a.Token, a.Wait)
	case protocol.DrainShard:
		c.hosted(a.Shard, func(h *hosting) { c.toShard(h.s, protocol.Drain{HandOff: a.HandOff}) })
	case protocol.StopShard:
		c.hosted(a.Shard, func(h *hosting) { c.toShard(h.s, protocol.Stop{HandOff: a.HandOff, Force: a.Force}) })
	case protocol.ResumeShard:
		c.hosted(a.Shard, func(h *hosting) {
			h.s.resume()
			c.toShard(h.s, protocol.Resume{})
			for _, id := range h.s.leaving() {
				c.toShard(h.s, protocol.Passivate{ID: id, Cause: protocol.CauseLimit})
			}
		})
	case protocol.CloseShard:
		c.hosted(a.Shard, c.closeShard)
	case protocol.KillShard:
		c.hosted(a.Shard, func(h *hosting) { c.killShard(h, reasonOf(a.Reason)) })
	}
}

func (c *control) hosted(n protocol.ShardID, fn func(*hosting)) {
	if h := c.shards[uint32(n)]; h != nil {
		fn(h)
	}
}

// setRoute publishes a route. Lanes deliver here in the states local and draining; own senders only
// in local.
func (c *control) setRoute(number uint32, rt protocol.Route) {
	defer c.noteHome(number, rt)
	h := c.shards[number]
	switch {
	case rt.State == protocol.RouteLocal && h != nil:
		c.open(number, &route{local: h.s})
		return
	case rt.State == protocol.RouteDraining && h != nil:
		c.r.routes.openLanes(number, h.s)
	case rt.State == protocol.RouteRemote:
		c.r.routes.lanes[number].Store(nil)
		c.open(number, &route{remote: uint64(rt.Home)})
		return
	default:
		c.r.routes.lanes[number].Store(nil)
	}
	if c.r.routes.buffering(number).waits() { // for a route that is gone; the machine believes them sent
		c.toRegion(protocol.Wanted{Shard: protocol.ShardID(number)})
	}
}

// noteHome notifies what depends on it that the shard has lost its home with a node, or has a home
// again.
func (c *control) noteHome(number uint32, rt protocol.Route) {
	was, now := c.homes[number], uint64(0)
	switch rt.State {
	case protocol.RouteLocal:
		now = c.r.self
	case protocol.RouteRemote:
		now = uint64(rt.Home)
	}
	if now != 0 {
		c.homes[number] = now
	}
	if was != 0 && (now != 0 || c.view != nil && !c.view.Has(membership.UID(was))) {
		c.r.attached.moved(number)
	}
}

func (c *control) open(number uint32, rt *route) {
	if !c.r.routes.setRoute(number, rt) {
		c.later(number)
	}
}

func (c *control) startShard(number uint32, token protocol.Token, wait time.Duration) {
	m, err := shardmachine.New(c.cfg, c.rng, protocol.ShardID(number))
	if err != nil {
		panic("sharding: a config that the region accepted is refused by the shard: " + err.Error())
	}
	h := &hosting{s: newShard(c.r, number, token), m: m, starts: map[uint64]bufferedMessage{}}
	h.s.era = c.view.Era // a region hosts in a view only
	c.shards[number] = h
	c.unshared = true
	c.r.routes.hosted[number].Store(h.s)
	c.toShard(h.s, protocol.Open{Wait: wait})
}

// closeShard lets go of a shard that has stopped in order. What is left in its mailboxes goes
// before everything that waits for the next home.
func (c *control) closeShard(h *hosting) {
	front := c.forget(h)
	h.s.shut(func(e *entity, env envelope, size uint32) {
		front = append(front, bufferedMessage{id: e.id, env: env, size: max(bufferedOverhead, int(size))})
	})
	c.r.routes.putBack(h.s.number, front)
}

func (c *control) killShard(h *hosting, reason DropReason) {
	if reason == DropLeaseLost {
		c.r.leases.lost.Add(1)
		h.s.cancelContexts(ErrNoLease)
	}
	for _, p := range c.forget(h) {
		c.r.out.discard(reason, h.s.number, p.id, p.env)
	}
	h.s.shut(func(e *entity, env envelope, _ uint32) { c.r.out.discard(reason, h.s.number, e.id, env) })
	c.retire(h, reason)
}

// forget lets go of a hosting. It returns what waited for its machine.
func (c *control) forget(h *hosting) (starts []bufferedMessage) {
	delete(c.shards, h.s.number)
	c.unshared = true
	h.deadline = dueNever
	c.r.storeFailure.forget(h.s.number)
	c.r.routes.lanes[h.s.number].CompareAndSwap(h.s, nil)
	c.r.routes.hosted[h.s.number].CompareAndSwap(h.s, nil)
	for _, req := range slices.Sorted(maps.Keys(h.starts)) {
		starts = append(starts, h.starts[req])
	}
	return starts
}

// shardEffects carries out what a step of a Shard asks for.
func (c *control) shardEffects(h *hosting, fx *protocol.ShardEffects) {
	for _, w := range fx.Write {
		c.writeUnder(h.s, w)
	}
	for _, rd := range fx.Read {
		c.read(rd, func(v crdt.Reader, in protocol.DidRead) {
			if rd.Kind == protocol.StateIDs && in.Err == nil && c.remembered == nil {
				c.post(ctlInput{do: func(time.Time) { c.idsRead(h, v) }})
			}
			c.post(ctlInput{s: h.s, shard: in})
		})
	}
	for _, op := range fx.Lease {
		c.leaseOp(h, op)
	}
	for _, a := range fx.Do {
		c.shardAction(h, a)
	}
	for _, req := range fx.Reply {
		if p, ok := h.starts[req]; ok {
			delete(h.starts, req)
			_ = c.r.out.reply(p.env.call, p.env.origin, c.r.self, nil) // counted when it cannot be sent
		}
	}
	for _, in := range fx.Region {
		c.toRegion(in)
	}
	for _, e := range fx.Notify {
		c.r.storeFailure.note(e)
		c.notify(e)
	}
}

func (c *control) shardAction(h *hosting, a protocol.ShardAction) {
	s := h.s
	switch a := a.(type) {
	case protocol.StartEntities:
		c.r.restored.Add(uint64(a.Remembered))
		s.start(a.IDs)
	case protocol.StopEntity:
		c.r.passivations.byCause[a.Cause].Add(1)
		c.r.passivations.latest.note(passivated{string(a.ID), int(s.number), a.Cause, time.Now(), s.limit()})
		stopEntity(s, a.ID, func(e *entity) { s.command(e, stopNow) })
	case protocol.ForceStop:
		c.r.passivations.forced.Add(1)
		stopEntity(s, a.ID, (*entity).force)
	case protocol.DrainMailboxes:
		c.r.routes.lanes[s.number].Store(nil) // it would be refused; and what waits must not be overtaken if the shard resumes
		s.drain(func() { c.post(ctlInput{s: s, shard: protocol.MailboxesEmpty(a)}) })
		c.r.routes.failBuffered(s)
	case protocol.StopEntities:
		s.each(func(e *entity) { s.command(e, stopNow) })
	case protocol.ForceStopEntities:
		s.each((*entity).force)
	case protocol.ForwardStart:
		c.forwardStart(a.IDs, func(ids []protocol.EntityID) { c.post(ctlInput{s: s, shard: protocol.StartedElsewhere{IDs: ids}}) })
	}
}

// stopEntity stops an entity that runs. One that does not has just ended, and the machine is about
// to hear of it.
func stopEntity(s *shard, id protocol.EntityID, stop func(*entity)) {
	if e := s.find(string(id)); e != nil && e.isStarted() {
		stop(e)
	}
}

func reasonOf(r protocol.Reason) DropReason {
	switch r {
	case protocol.DropLeaseLost:
		return DropLeaseLost
	case protocol.DropEnded:
		return DropEnded
	case protocol.DropNodeLost, protocol.DropHomeElsewhere:
		return DropForced
	}
	return DropStopped
}
