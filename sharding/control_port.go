package sharding

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/protocol"
)

var _ controller = (*control)(nil)

// wanted implements controller.
func (c *control) wanted(shard uint32) {
	c.post(ctlInput{do: func(now time.Time) {
		c.toRegion(protocol.Wanted{Shard: protocol.ShardID(shard)})
		if c.noHostAt.IsZero() {
			c.noHostAt = now.Add(noHostFirst)
		}
	}})
}

// flushLater implements controller.
func (c *control) flushLater(shard uint32) {
	c.post(ctlInput{do: func(time.Time) { c.later(shard) }})
}

// misrouted implements controller. It is a hint that comes once per message, so it may be lost.
func (c *control) misrouted(from uint64, shard uint32) {
	c.loop.Post(ctlInput{region: protocol.Misrouted{From: protocol.UID(from), Shard: protocol.ShardID(shard)}})
}

// wake implements controller.
func (c *control) wake(s *shard, id string) {
	c.post(ctlInput{s: s, shard: protocol.Wake{ID: protocol.EntityID(id)}})
}

// passivate implements controller.
func (c *control) passivate(s *shard, id string, why protocol.Cause, place runloop.Permit) {
	c.post(ctlInput{s: s, shard: protocol.Passivate{ID: protocol.EntityID(id), Cause: why}, from: place})
}

// admit implements controller.
func (c *control) admit(from uint64, bytes int) (runloop.Permit, bool) {
	return c.admin.Admit(from, bytes)
}

// reshare implements controller.
func (c *control) reshare() {
	c.post(ctlInput{do: func(time.Time) { c.unshared = true }})
}

// entityStopped implements controller.
func (c *control) entityStopped(s *shard, id string) {
	c.post(ctlInput{s: s, shard: protocol.EntityStopped{ID: protocol.EntityID(id)}})
}

// startEntity implements controller.
func (c *control) startEntity(s *shard, id string, env envelope, place runloop.Permit) {
	c.post(ctlInput{from: place, do: func(time.Time) {
		h := c.shards[s.number]
		if h == nil || h.s != s {
			c.reroute(id, env)
			return
		}
		h.lastReq++
		h.starts[h.lastReq] = bufferedMessage{id: id, env: env, size: bufferedOverhead}
		c.toShard(s, protocol.StartEntity{ID: protocol.EntityID(id), Req: h.lastReq})
	}})
}

// reroute sends a StartEntity after its shard, which has moved.
func (c *control) reroute(id string, env envelope) {
	if err := c.r.send(inHandler, id, env); err != nil {
		c.r.out.replyError(env, statusLost, err.Error())
	}
}

// receive implements controller. What finds no place is lost: the machines repeat what is not
// answered.
func (c *control) receive(from uint64, m protocol.Message, bytes int) {
	in := c.admission
	if m.ToCoordinator() && c.coord != nil {
		in = c.coord.admission
	}
	if place, ok := in.Admit(from, bytes); ok {
		c.deliver(protocol.UID(from), m, place)
	}
}

// newAdmission bounds what other nodes have waiting in front of one machine.
func (c *control) newAdmission() *runloop.Admission {
	member := func(node uint64) bool {
		v := c.cluster.View()
		return v != nil && v.Has(membership.UID(node))
	}
	return runloop.NewAdmission(member, func() { c.r.drops.drop(DropInbox, -1, "", nil) })
}

// note implements controller.
func (c *control) note(e protocol.Event) { c.post(ctlInput{do: func(time.Time) { c.notify(e) }}) }

// rejected implements controller.
func (c *control) rejected(from uint64, err error) {
	c.r.log.Debug("sharding message rejected", "type", c.r.name, "from", protocol.UID(from), "error", err)
}

// When messages wait and no member has the type's role, a warning says so: first after a time in
// which a host may well come up, then again and again.
const (
	noHostFirst = time.Second
	noHostAgain = 30 * time.Second
)

// warnUnhosted warns that messages wait for a home that no node can give. Tell has accepted them,
// so their senders do not hear of it.
func (c *control) warnUnhosted(now time.Time) {
	c.noHostAt = time.Time{}
	waiting := c.r.routes.limit.count.Load()
	if waiting == 0 {
		return
	}
	c.noHostAt = now.Add(noHostAgain)
	if why := c.r.standing.unhosted(); why != nil {
		c.r.log.Warn("sharding: messages wait, and no member can host the type: is its Role misspelt?",
			"type", c.r.name, "role", c.cfg.Role, "buffered", waiting, "error", why)
	}
}
