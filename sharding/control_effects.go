package sharding

import (
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// regionEffects carries out what a step of the Region asks for.
func (c *control) regionEffects(now time.Time, fx *protocol.RegionEffects) {
	for _, a := range fx.Do {
		c.regionAction(now, a)
	}
	for _, e := range fx.Send {
		c.mail.send(e)
	}
	for _, e := range fx.Notify {
		if e.Kind == protocol.TypeMismatch {
			c.r.Standing.Refused(e.Text)
		}
		c.notices.notify(e)
	}
	if len(fx.AtRest) > 0 {
		c.stops.atRest(fx.AtRest)
	}
	if fx.Left {
		c.departure.wanted = true
		c.r.Standing.Leaves()
		c.departure.maybeEnd(c.retries.empty())
	}
}

func (c *control) regionAction(now time.Time, a protocol.RegionAction) {
	switch a := a.(type) {
	case protocol.SetRoute:
		c.setRoute(now, uint32(a.Shard), a.Route)
	case protocol.FlushBuffer:
		c.retries.flush(now, uint32(a.Shard))
	case protocol.DropBuffer:
		c.r.Routes.DropBuffer(uint32(a.Shard), reasonOf(a.Reason))
	case protocol.SendFence:
		c.retries.fence(now, c.view, a)
	case protocol.StartShard:
		c.startShard(uint32(a.Shard), a.Token, a.Wait)
	case protocol.DrainShard:
		c.toHosted(protocol.Drain{HandOff: a.HandOff}, a.Shard)
	case protocol.StopShard:
		c.toHosted(protocol.Stop{HandOff: a.HandOff, Force: a.Force}, a.Shard)
	case protocol.ResumeShard:
		if h := c.hosted.of(a.Shard); h != nil {
			h.s.Resume()
			c.toShard(h.s, protocol.Resume{})
			for _, id := range h.s.Leaving() {
				c.toShard(h.s, protocol.Passivate{ID: id, Cause: protocol.CauseLimit})
			}
		}
	case protocol.CloseShard:
		if h := c.hosted.of(a.Shard); h != nil {
			c.closeShard(h)
		}
	case protocol.KillShard:
		if h := c.hosted.of(a.Shard); h != nil {
			c.killShard(h, reasonOf(a.Reason))
		}
	}
}

// setRoute publishes a route. Lanes deliver here in the states local and draining; own senders only
// in local.
func (c *control) setRoute(now time.Time, number uint32, rt protocol.Route) {
	c.publish(now, number, rt)
	gone := func(node uint64) bool { return c.view != nil && !c.view.Has(membership.UID(node)) }
	if c.homes.note(number, rt, c.r.Self, gone) {
		c.r.Attached.Moved(number)
	}
}

func (c *control) publish(now time.Time, number uint32, rt protocol.Route) {
	h := c.hosted.of(protocol.ShardID(number))
	switch {
	case rt.State == protocol.RouteLocal && h != nil:
		c.retries.open(now, number, &dataplane.Route{Local: h.s})
		return
	case rt.State == protocol.RouteDraining && h != nil:
		c.r.Routes.OpenLanes(number, h.s)
	case rt.State == protocol.RouteRemote:
		c.r.Routes.Lanes[number].Store(nil)
		c.retries.open(now, number, &dataplane.Route{Remote: uint64(rt.Home)})
		return
	default:
		c.r.Routes.Lanes[number].Store(nil)
	}
	if c.r.Routes.Buffering(number).Waits() { // for a route that is gone; the machine believes them sent
		c.toRegion(protocol.Wanted{Shard: protocol.ShardID(number)})
	}
}

// shardEffects carries out what a step of a Shard asks for.
func (c *control) shardEffects(now time.Time, h *hosting, fx *protocol.ShardEffects) {
	for _, w := range fx.Write {
		c.writeUnder(h.s, w)
	}
	for _, rd := range fx.Read {
		c.state.read(rd, func(v crdt.Reader, in protocol.DidRead) {
			if rd.Kind == protocol.StateIDs && in.Err == nil && c.state.remembered == nil {
				c.inbox.do(func(c *control, _ time.Time) {
					h.ids.read(v)
					c.compareIDs(h)
				})
			}
			c.inbox.toShard(h.s, in)
		})
	}
	for _, op := range fx.Lease {
		c.leaseOp(h, op)
	}
	for _, a := range fx.Do {
		c.shardAction(now, h.s, a)
	}
	for _, req := range fx.Reply {
		if p, ok := h.answered(req); ok {
			_ = c.r.Out.Reply(p.Env.Call, p.Env.Origin, c.r.Self, nil) // counted when it cannot be sent
		}
	}
	for _, in := range fx.Region {
		c.toRegion(in)
	}
	for _, e := range fx.Notify {
		c.r.StoreFailure.Note(e)
		c.notices.notify(e)
	}
}

// writeUnder writes for a shard, under its lease if it has one.
func (c *control) writeUnder(s *dataplane.Shard, w protocol.StateWrite) {
	if s.Lease != nil {
		s.Lease.Enter()
	}
	c.state.write(w, func(err error) {
		if s.Lease != nil {
			s.Lease.Exit()
		}
		c.inbox.toShard(s, protocol.Wrote{ID: w.ID, Err: err})
	})
}

// leaseOp carries out what a Shard machine wants of its lease. Its release comes when nothing goes
// on any more.
func (c *control) leaseOp(h *hosting, op protocol.LeaseOp) {
	if !op.Acquire {
		c.leases.release(h.s, func() { c.inbox.toShard(h.s, protocol.LeaseReleased{Gen: op.Gen}) })
		return
	}
	c.leases.acquire(h.s, op.Gen, func(g *dataplane.LeaseHold, in protocol.ShardInput) {
		c.inbox.do(func(c *control, _ time.Time) {
			if g != nil && c.hosted.at(h.s) == h {
				h.s.Lease.Returned.Store(false)
				h.s.Lease.Hold.Store(g)
			}
			c.toShard(h.s, in)
		})
	})
}

func (c *control) shardAction(now time.Time, s *dataplane.Shard, a protocol.ShardAction) {
	switch a := a.(type) {
	case protocol.StartEntities:
		c.r.Restored.Add(uint64(a.Remembered))
		s.Start(a.IDs)
	case protocol.StopEntity:
		c.r.Passivations.ByCause[a.Cause].Add(1)
		c.r.Passivations.Latest.Note(dataplane.Passivated{Id: string(a.ID), Shard: int(s.Number), Cause: a.Cause, At: now, Limit: s.Limit()})
		stopEntity(s, a.ID, func(e *dataplane.Entity) { s.Command(e, dataplane.StopNow) })
	case protocol.ForceStop:
		c.r.Passivations.Forced.Add(1)
		stopEntity(s, a.ID, (*dataplane.Entity).Force)
	case protocol.DrainMailboxes:
		c.r.Routes.Lanes[s.Number].Store(nil) // it would be refused; and what waits must not be overtaken if the shard resumes
		s.Drain(func() { c.inbox.toShard(s, protocol.MailboxesEmpty(a)) })
		c.r.Routes.FailBuffered(s)
	case protocol.StopEntities:
		s.Each(func(e *dataplane.Entity) { s.Command(e, dataplane.StopNow) })
	case protocol.ForceStopEntities:
		s.Each((*dataplane.Entity).Force)
	case protocol.ForwardStart:
		c.forwards.run(a.IDs, func(ids []protocol.EntityID) { c.inbox.toShard(s, protocol.StartedElsewhere{IDs: ids}) })
	}
}

// stopEntity stops an entity that runs. One that does not has just ended, and the machine is about
// to hear of it.
func stopEntity(s *dataplane.Shard, id protocol.EntityID, stop func(*dataplane.Entity)) {
	if e := s.Find(string(id)); e != nil && e.IsStarted() {
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
