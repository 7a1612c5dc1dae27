package sharding

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/region"
	shardmachine "github.com/coterie-go/coterie/sharding/protocol/shard"
)

// control is the control plane of one region: it steps the Region and the Shard machines of one
// entity type and carries out their effects. Everything here belongs to the goroutine of its Loop,
// except what says that any goroutine may use it. Machines never step each other: what one says to
// another waits in todo.
type control struct {
	r      *dataplane.Plane
	cfg    protocol.Config
	rng    *rand.Rand
	region *region.Region
	todo   []ctlInput
	view   *membership.View
	ended  bool // no machine is stepped any more

	inbox    *inbox        // any goroutine's
	mail     *machineMail  // any goroutine's
	notices  *notices      // any goroutine's
	state    *stateStore   // any goroutine's
	coord    *coordination // it has a loop of its own; nil on a proxy
	table    *tableFeed
	forwards *forwards
	leases   *leaseClients

	hosted    hostings
	homes     homes
	load      loadMeter
	retries   retries
	unhosted  unhostedWatch
	stops     stops
	departure departure
}

func (c *control) toRegion(in protocol.RegionInput) { c.todo = append(c.todo, ctlInput{region: in}) }
func (c *control) toShard(s *dataplane.Shard, in protocol.ShardInput) {
	c.todo = append(c.todo, ctlInput{shard: in, s: s})
}

// Step implements runloop.Machine.
func (c *control) Step(now time.Time, in ctlInput) {
	in.from.Release()
	c.todo = append(c.todo, in)
	for i := 0; i < len(c.todo); i++ {
		switch in := c.todo[i]; {
		case in.do != nil:
			in.do(c, now)
		case c.ended:
		case in.region != nil:
			c.regionEffects(now, c.region.Step(now, in.region))
			c.noteCoordinator()
		case in.shard != nil:
			if h := c.hosted.at(in.s); h != nil { // else it is about an earlier hosting
				c.shardEffects(now, h, h.m.Step(now, in.shard))
				c.hosted.schedule(h)
			}
		}
	}
	clear(c.todo)
	c.todo = c.todo[:0]
}

// String prints the machines that it steps, each in a line.
func (c *control) String() string {
	return strings.Join(append([]string{c.region.String()}, c.hosted.lines()...), "\n")
}

// noteCoordinator makes known how the region and its coordinator stand.
func (c *control) noteCoordinator() {
	registered, ever := c.region.Registered()
	coordinator, absent := c.region.Coordinator()
	c.r.Standing.RegionSteps(registered, ever, uint64(coordinator), absent)
}

// Flush implements runloop.Machine.
func (c *control) Flush() {
	c.r.Meters.Machine("region", c.region.Stats)
	c.hosted.reshare(&c.r.Passivations)
}

// Deadline implements runloop.Machine.
func (c *control) Deadline() time.Time {
	if c.ended {
		return time.Time{}
	}
	d := c.region.Deadline()
	for _, at := range [...]time.Time{c.hosted.next(), c.unhosted.at, c.retries.at, c.load.at} {
		d = earlier(d, at)
	}
	return d
}

func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// Tick implements runloop.Machine.
func (c *control) Tick() ctlInput { return ctlInput{do: (*control).tick} }

func (c *control) tick(now time.Time) {
	if c.ended {
		return
	}
	due := func(at time.Time) bool { return !at.IsZero() && !now.Before(at) }
	if due(c.region.Deadline()) {
		c.toRegion(protocol.Tick{})
	}
	for _, h := range c.hosted.expired(now) {
		c.toShard(h.s, protocol.Tick{})
	}
	if due(c.unhosted.at) {
		c.unhosted.look(now)
	}
	if due(c.load.at) {
		c.toRegion(c.load.measure(now, c.hosted.all()))
	}
	if due(c.retries.at) {
		c.retries.retry(now, c.view)
		c.departure.maybeEnd(c.retries.empty())
	}
}

// toHosted has the machines of shards step that are hosted here.
func (c *control) toHosted(in protocol.ShardInput, shards ...protocol.ShardID) {
	for _, n := range shards {
		if h := c.hosted.of(n); h != nil {
			c.toShard(h.s, in)
		}
	}
}

func (c *control) tableChanged() {
	in := c.table.take()
	if len(in.Entries) == 0 {
		return
	}
	c.toRegion(in)
	c.coord.post(in)
}

// compareIDs has newer remembered ids of a shard compared with those that its machine knows of.
func (c *control) compareIDs(h *hosting) {
	if c.hosted.at(h.s) == nil {
		return
	}
	before, now, ok := h.ids.begin()
	if !ok {
		return
	}
	c.inbox.Aside(func() {
		in := protocol.DiffIDs(before, now)
		c.inbox.do(func(c *control, _ time.Time) {
			if len(in.Added)+len(in.Removed) > 0 {
				c.toShard(h.s, in)
			}
			h.ids.end()
			c.compareIDs(h)
		})
	})
}

// startShard hosts a shard.
func (c *control) startShard(number uint32, token protocol.Token, wait time.Duration) {
	m, err := shardmachine.New(c.cfg, c.rng, protocol.ShardID(number))
	if err != nil {
		panic("sharding: a config that the region accepted is refused by the shard: " + err.Error())
	}
	h := &hosting{s: dataplane.NewShard(c.r, number, token), m: m, starts: map[uint64]dataplane.BufferedMessage{}}
	h.s.Era = c.view.Era // a region hosts in a view only
	c.hosted.add(h)
	c.r.Routes.Hosted[number].Store(h.s)
	c.toShard(h.s, protocol.Open{Wait: wait})
}

// startEntity has an entity start; env is answered when it runs. A StartEntity whose shard has moved
// is sent after it.
func (c *control) startEntity(s *dataplane.Shard, id string, env dataplane.Envelope) {
	if h := c.hosted.at(s); h != nil {
		c.toShard(s, protocol.StartEntity{ID: protocol.EntityID(id), Req: h.ask(id, env)})
		return
	}
	if err := c.r.Send(dataplane.InHandler, id, env); err != nil {
		c.r.Out.ReplyError(env, codec.StatusLost, err.Error())
	}
}

// closeShard lets go of a shard that has stopped in order. What is left in its mailboxes goes
// before everything that waits for the next home.
func (c *control) closeShard(h *hosting) {
	front := c.forget(h)
	h.s.Shut(func(e *dataplane.Entity, env dataplane.Envelope, size uint32) {
		front = append(front, dataplane.BufferedMessage{Id: e.Id, Env: env, Size: max(dataplane.BufferedOverhead, int(size))})
	})
	c.r.Routes.PutBack(h.s.Number, front)
}

func (c *control) killShard(h *hosting, reason DropReason) {
	if reason == DropLeaseLost {
		c.r.Leases.Lost.Add(1)
		h.s.CancelContexts(ErrNoLease)
	}
	for _, p := range c.forget(h) {
		c.r.Out.Discard(reason, h.s.Number, p.Id, p.Env)
	}
	h.s.Shut(func(e *dataplane.Entity, env dataplane.Envelope, _ uint32) {
		c.r.Out.Discard(reason, h.s.Number, e.Id, env)
	})
	c.leases.retire(h.s, reason == DropStopped)
}

// forget lets go of a hosting. It returns what waited for its machine.
func (c *control) forget(h *hosting) (starts []dataplane.BufferedMessage) {
	c.hosted.remove(h)
	c.r.StoreFailure.Forget(h.s.Number)
	c.r.Routes.Unhost(h.s)
	return h.waiting()
}

// killAll drops everything that is hosted or buffered.
func (c *control) killAll() {
	c.ended = true
	for _, h := range c.hosted.byShard {
		c.killShard(h, DropStopped)
	}
	c.r.Routes.Close()
	c.retries.clear()
}

// endHosting runs killAll on the goroutine of the loop. A loop that has broken has none; then
// nothing else touches what belongs to it.
func (c *control) endHosting() {
	killed := make(chan struct{})
	c.inbox.do(func(c *control, _ time.Time) {
		c.killAll()
		close(killed)
	})
	select {
	case <-killed:
	case <-c.inbox.loop.Stopped():
		c.killAll()
	}
}
