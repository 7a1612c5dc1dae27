package control

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// RegionEffects carries out what a step of the Region asks for.
func (c *Plane) RegionEffects(now time.Time, fx *protocol.RegionEffects) {
	for _, a := range fx.Do {
		c.RegionAction(now, a)
	}
	for _, e := range fx.Send {
		c.mail.send(e)
	}
	for _, e := range fx.Notify {
		if e.Kind == protocol.TypeMismatch {
			c.R.Standing.Refused(e.Text)
		}
		c.Notices.notify(e)
	}
	if len(fx.AtRest) > 0 {
		c.Stops.AtRest(fx.AtRest)
	}
	if fx.Left {
		c.Departure.wanted = true
		c.R.Standing.Leaves()
		c.Departure.MaybeEnd(c.Retries.Empty())
	}
}

// RegionAction carries out one action that a step of the Region asks for.
func (c *Plane) RegionAction(now time.Time, a protocol.RegionAction) {
	switch a := a.(type) {
	case protocol.SetRoute:
		c.SetRoute(now, uint32(a.Shard), a.Route)
	case protocol.FlushBuffer:
		c.Retries.flush(now, uint32(a.Shard))
	case protocol.DropBuffer:
		c.R.Routes.DropBuffer(uint32(a.Shard), reasonOf(a.Reason))
	case protocol.SendFence:
		c.Retries.Fence(now, c.View, a)
	case protocol.StartShard:
		c.startShard(uint32(a.Shard), a.Token, a.Wait)
	case protocol.DrainShard:
		c.toHosted(protocol.Drain{HandOff: a.HandOff}, a.Shard)
	case protocol.StopShard:
		c.toHosted(protocol.Stop{HandOff: a.HandOff, Force: a.Force}, a.Shard)
	case protocol.ResumeShard:
		if h := c.Hosted.Of(a.Shard); h != nil {
			h.S.Resume()
			if c.Reminders != nil {
				c.Reminders.Resume(h.S)
			}
			c.toShard(h.S, protocol.Resume{})
			for _, id := range h.S.Leaving() {
				c.toShard(h.S, protocol.Passivate{ID: id, Cause: protocol.CauseLimit})
			}
		}
	case protocol.CloseShard:
		if h := c.Hosted.Of(a.Shard); h != nil {
			c.CloseShard(h)
		}
	case protocol.KillShard:
		if h := c.Hosted.Of(a.Shard); h != nil {
			c.KillShard(h, reasonOf(a.Reason))
		}
	}
}

// SetRoute publishes a route. Lanes deliver here in the states local and draining; own senders only
// in local.
func (c *Plane) SetRoute(now time.Time, number uint32, rt protocol.Route) {
	c.publish(now, number, rt)
	gone := func(node uint64) bool { return c.View != nil && !c.View.Has(view.UID(node)) }
	if c.homes.note(number, rt, c.R.Self, gone) {
		c.R.Attached.Moved(number)
	}
}

func (c *Plane) publish(now time.Time, number uint32, rt protocol.Route) {
	h := c.Hosted.Of(protocol.ShardID(number))
	switch {
	case rt.State == protocol.RouteLocal && h != nil:
		c.Retries.Open(now, number, &routes.Route{Local: h.S})
		return
	case rt.State == protocol.RouteDraining && h != nil:
		c.R.Routes.OpenLanes(number, h.S)
	case rt.State == protocol.RouteRemote:
		c.R.Routes.Lanes[number].Store(nil)
		c.Retries.Open(now, number, c.remotes.to(rt.Home))
		return
	default:
		c.R.Routes.Lanes[number].Store(nil)
	}
	if c.R.Routes.Buffering(number).Waits() { // for a route that is gone; the machine believes them sent
		c.toRegion(protocol.Wanted{Shard: protocol.ShardID(number)})
	}
}

// shardEffects carries out what a step of a Shard asks for.
func (c *Plane) shardEffects(now time.Time, h *Hosting, fx *protocol.ShardEffects) {
	opens := func(in protocol.RegionInput) bool { _, is := in.(protocol.ShardStarted); return is }
	if c.Reminders != nil && slices.ContainsFunc(fx.Region, opens) {
		c.Reminders.Open(h.S) // before the entities start, which may set some
	}
	for _, w := range fx.Write {
		c.writeUnder(h.S, w)
	}
	for _, rd := range fx.Read {
		rd.By = h.S.Fence()
		c.State.Read(rd, func(v crdt.Reader, in protocol.DidRead) {
			if rd.Kind == protocol.StateIDs && in.Err == nil && c.State.remembered == nil {
				c.Inbox.Do(func(c *Plane, _ time.Time) {
					h.ids.read(v)
					c.compareIDs(h)
				})
			}
			c.Inbox.toShard(h.S, in)
		})
	}
	for _, op := range fx.Lease {
		c.leaseOp(h, op)
	}
	for _, a := range fx.Do {
		c.shardAction(now, h.S, a)
	}
	for _, req := range fx.Reply {
		if p, ok := h.answered(req); ok {
			_ = c.R.Out.Reply(p.Env.Call, p.Env.Origin, c.R.Self, nil) // counted when it cannot be sent
		}
	}
	for _, in := range fx.Region {
		c.toRegion(in)
	}
	for _, e := range fx.Notify {
		c.R.StoreFailure.Note(e)
		c.Notices.notify(e)
	}
}

// writeUnder writes for a shard, under its lease if it has one.
func (c *Plane) writeUnder(s *entities.Shard, w protocol.StateWrite) {
	if s.Lease != nil {
		s.Lease.Enter()
	}
	w.By = s.Fence()
	c.State.Write(w, func(err error) {
		if s.Lease != nil {
			s.Lease.Exit()
		}
		c.Inbox.toShard(s, protocol.Wrote{ID: w.ID, Err: err})
	})
}

// leaseOp carries out what a Shard machine wants of its lease. Its release comes when nothing goes
// on any more.
func (c *Plane) leaseOp(h *Hosting, op protocol.LeaseOp) {
	if !op.Acquire {
		c.Leases.release(h.S, func() { c.Inbox.toShard(h.S, protocol.LeaseReleased{Gen: op.Gen}) })
		return
	}
	c.Leases.acquire(h.S, op.Gen, func(g *lease.Hold, in protocol.ShardInput) {
		c.Inbox.Do(func(c *Plane, _ time.Time) {
			if g != nil && c.Hosted.at(h.S) == h {
				h.S.Lease.Grant(g)
			}
			c.toShard(h.S, in)
		})
	})
}

func (c *Plane) shardAction(now time.Time, s *entities.Shard, a protocol.ShardAction) {
	switch a := a.(type) {
	case protocol.StartEntities:
		c.R.Entities.Restored.Add(uint64(a.Remembered))
		s.Start(a.IDs, a.Follow)
	case protocol.StopEntity:
		c.R.Entities.Passivations.ByCause[a.Cause].Add(1)
		c.R.Entities.Passivations.Latest.Note(entities.Passivated{
			ID: string(a.ID), Shard: protocol.ShardID(s.Number), Cause: a.Cause, At: now, Limit: s.Limit(),
		})
		stopEntity(s, a.ID, func(e *entities.Entity) { s.Command(e, mailbox.StopNow) })
	case protocol.ForceStop:
		c.R.Entities.Passivations.Forced.Add(1)
		stopEntity(s, a.ID, (*entities.Entity).Force)
	case protocol.DrainMailboxes:
		// it would be refused; and what waits must not be overtaken if the shard resumes
		c.R.Routes.Lanes[s.Number].Store(nil)
		empty := func() { c.Inbox.toShard(s, protocol.MailboxesEmpty(a)) }
		if r := c.Reminders; r != nil {
			r.Drain(s)
			s.Drain(func() { r.Flush(s, empty) }) // with them, what handlers have done with reminders is written
		} else {
			s.Drain(empty)
		}
		c.R.Routes.FailBuffered(s)
	case protocol.StopEntities:
		s.Each(func(e *entities.Entity) { s.Command(e, mailbox.StopNow) })
	case protocol.ForceStopEntities:
		s.Each((*entities.Entity).Force)
	case protocol.ForwardStart:
		c.forwards.run(a.IDs, func(ids []protocol.EntityID) { c.Inbox.toShard(s, protocol.StartedElsewhere{IDs: ids}) })
	}
}

// stopEntity stops an entity that runs. One that does not has just ended, and the machine is about
// to hear of it.
func stopEntity(s *entities.Shard, id protocol.EntityID, stop func(*entities.Entity)) {
	if e := s.Find(string(id)); e != nil && e.State().Started {
		stop(e)
	}
}

func reasonOf(r protocol.Reason) failure.DropReason {
	switch r {
	case protocol.DropLeaseLost:
		return failure.DropLeaseLost
	case protocol.DropEnded:
		return failure.DropEnded
	case protocol.DropNodeLost, protocol.DropHomeElsewhere:
		return failure.DropForced
	}
	return failure.DropStopped
}
