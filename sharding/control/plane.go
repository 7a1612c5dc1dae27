package control

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/reminders"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/region"
	shardmachine "github.com/coterie-go/coterie/sharding/protocol/shard"
)

// Plane is the control plane of one region: it steps the Region and the Shard machines of one
// entity type and carries out their effects. Everything here belongs to the goroutine of its Loop,
// except what says that any goroutine may use it. Machines never step each other: what one says to
// another waits in todo.
type Plane struct {
	R      *dataplane.Plane
	Cfg    protocol.Config
	rng    *rand.Rand
	region *region.Region
	Todo   []Input
	probe  *Probe // of a simulation; nil: none
	View   *view.View
	ended  bool // no machine is stepped any more

	Inbox    *inbox        // any goroutine's
	mail     *machineMail  // any goroutine's
	Notices  *notices      // any goroutine's
	State    *StateStore   // any goroutine's
	Coord    *coordination // it has a loop of its own; nil on a proxy
	table    *tableFeed
	forwards *forwards
	Leases   *leaseClients
	// Reminders are any goroutine's; nil: entities of the type set none, or the node lacks the role.
	Reminders *reminders.Reminders

	Hosted    Hostings
	homes     homes
	remotes   remotes
	load      loadMeter
	Retries   retries
	unhosted  unhostedWatch
	Stops     Stops
	Departure Departure
}

func (c *Plane) toRegion(in protocol.RegionInput) { c.Todo = append(c.Todo, Input{Region: in}) }
func (c *Plane) toShard(s *entities.Shard, in protocol.ShardInput) {
	c.Todo = append(c.Todo, Input{shard: in, s: s})
}

// Step implements runloop.Machine.
func (c *Plane) Step(now time.Time, in Input) {
	in.from.Release()
	c.Todo = append(c.Todo, in)
	for i := 0; i < len(c.Todo); i++ {
		switch in := c.Todo[i]; {
		case in.do != nil:
			in.do(c, now)
		case c.ended:
		case in.Region != nil:
			c.probe.stepping(c.region)
			fx := c.region.Step(now, in.Region)
			c.probe.stepped(c, c.region, 0, in.Region, fx)
			c.RegionEffects(now, fx)
			c.noteCoordinator()
		case in.shard != nil:
			if h := c.Hosted.at(in.s); h != nil { // else it is about an earlier hosting
				c.probe.stepping(h.m)
				fx := h.m.Step(now, in.shard)
				c.probe.stepped(c, h.m, protocol.ShardID(h.S.Number), in.shard, fx)
				c.shardEffects(now, h, fx)
				c.Hosted.schedule(h)
			}
		}
	}
	clear(c.Todo)
	c.Todo = c.Todo[:0]
}

// String prints the machines that it steps, each in a line.
func (c *Plane) String() string {
	return strings.Join(append([]string{c.region.String()}, c.Hosted.lines()...), "\n")
}

// noteCoordinator makes known how the region and its coordinator stand.
func (c *Plane) noteCoordinator() {
	registered, ever := c.region.Registered()
	coordinator, absent, failing := c.region.Coordinator()
	c.R.Standing.RegionSteps(registered, ever, uint64(coordinator), absent)
	c.R.Standing.StateFails(failing)
}

// Flush implements runloop.Machine.
func (c *Plane) Flush() {
	c.R.Meters.Machine("region", c.region.Stats)
	c.Hosted.reshare(&c.R.Entities.Passivations)
}

// Deadline implements runloop.Machine.
func (c *Plane) Deadline() time.Time {
	if c.ended {
		return time.Time{}
	}
	return timer.Earliest(c.region.Deadline(), c.Hosted.next(), c.unhosted.at, c.Retries.at, c.load.at)
}

// Tick implements runloop.Machine.
func (c *Plane) Tick() Input { return Input{do: (*Plane).tick} }

func (c *Plane) tick(now time.Time) {
	if c.ended {
		return
	}
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	if due(c.region.Deadline()) {
		c.toRegion(protocol.Tick{})
	}
	for _, h := range c.Hosted.expired(now) {
		c.toShard(h.S, protocol.Tick{})
	}
	if due(c.unhosted.at) {
		c.unhosted.look(now)
	}
	if due(c.load.at) {
		c.toRegion(c.load.measure(now, c.Hosted.all()))
	}
	if due(c.Retries.at) {
		c.Retries.Retry(now, c.View)
		c.Departure.MaybeEnd(c.Retries.Empty())
	}
}

// toHosted has the machines of shards step that are hosted here.
func (c *Plane) toHosted(in protocol.ShardInput, shards ...protocol.ShardID) {
	for _, n := range shards {
		if h := c.Hosted.Of(n); h != nil {
			c.toShard(h.S, in)
		}
	}
}

// compareIDs has newer remembered ids of a shard compared with those that its machine knows of.
func (c *Plane) compareIDs(h *Hosting) {
	if c.Hosted.at(h.S) == nil {
		return
	}
	before, now, ok := h.ids.begin()
	if !ok {
		return
	}
	c.Inbox.Aside(func() {
		in := protocol.DiffIDs(before, now)
		c.Inbox.Do(func(c *Plane, _ time.Time) {
			if len(in.Added)+len(in.Removed) > 0 {
				c.toShard(h.S, in)
			}
			h.ids.end()
			c.compareIDs(h)
		})
	})
}

// startShard hosts a shard.
func (c *Plane) startShard(number uint32, token protocol.Token, wait time.Duration) {
	m, err := shardmachine.New(c.Cfg, c.rng, protocol.ShardID(number))
	if err != nil {
		panic("sharding: a config that the region accepted is refused by the shard: " + err.Error())
	}
	h := &Hosting{
		S: entities.NewShard(c.R.Entities, number, token), m: m, starts: map[uint64]routes.BufferedMessage{},
	}
	h.S.Era = c.View.Era // a region hosts in a view only
	c.Hosted.add(h)
	c.R.Routes.Hosted[number].Store(h.S)
	c.toShard(h.S, protocol.Open{Wait: wait})
}

// StartEntity has an entity start; env is answered when it runs. A StartEntity whose shard has moved
// is sent after it.
func (c *Plane) StartEntity(s *entities.Shard, id string, env mailbox.Envelope) {
	if h := c.Hosted.at(s); h != nil {
		c.toShard(s, protocol.StartEntity{ID: protocol.EntityID(id), Req: h.ask(id, env)})
		return
	}
	if err := c.R.Send(entities.InHandler, id, env); err != nil {
		c.R.Out.ReplyError(env, codec.StatusLost, err.Error())
	}
}

// CloseShard lets go of a shard that has stopped in order. What is left in its mailboxes goes
// before everything that waits for the next home.
func (c *Plane) CloseShard(h *Hosting) {
	front := c.forget(h)
	h.S.Shut(func(e *entities.Entity, env mailbox.Envelope, size uint32) {
		front = append(front, routes.BufferedMessage{
			ID: e.ID, Env: env, Size: max(routes.BufferedOverhead, int(size)),
		})
	})
	c.R.Routes.PutBack(h.S.Number, front)
	c.R.Attached.Ended(h.S)
}

// KillShard drops a shard at once, with what its mailboxes hold.
func (c *Plane) KillShard(h *Hosting, reason failure.DropReason) {
	if reason == failure.DropLeaseLost {
		c.R.Leases.Lost.Add(1)
		h.S.CancelContexts(failure.ErrNoLease)
	}
	for _, p := range c.forget(h) {
		c.R.Out.Discard(reason, h.S.Number, p.ID, p.Env)
	}
	h.S.Shut(func(e *entities.Entity, env mailbox.Envelope, _ uint32) {
		c.R.Out.Discard(reason, h.S.Number, e.ID, env)
	})
	c.Leases.retire(h.S, reason == failure.DropStopped)
	c.R.Attached.Ended(h.S)
}

// forget lets go of a hosting. It returns what waited for its machine.
func (c *Plane) forget(h *Hosting) (starts []routes.BufferedMessage) {
	c.Hosted.remove(h)
	c.R.StoreFailure.Forget(h.S.Number)
	if c.Reminders != nil {
		c.Reminders.Close(h.S)
	}
	c.R.Routes.Unhost(h.S)
	return h.waiting()
}

// killAll drops everything that is hosted or buffered.
func (c *Plane) killAll() {
	c.ended = true
	for h := range c.Hosted.inOrder() {
		c.KillShard(h, failure.DropStopped)
	}
	c.R.Routes.Close()
	c.Retries.clear()
}

// endHosting runs killAll on the goroutine of the loop. A loop that has broken has none; then
// nothing else touches what belongs to it.
func (c *Plane) endHosting() {
	killed := make(chan struct{})
	c.Inbox.Do(func(c *Plane, _ time.Time) {
		c.killAll()
		close(killed)
	})
	if c.R.Scheduler.Await(killed, c.Inbox.loop.Stopped(), nil) == 1 {
		c.killAll()
	}
}
