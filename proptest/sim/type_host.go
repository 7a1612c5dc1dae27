package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/handlers"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/sequence"
	"github.com/coterie-go/coterie/sharding"
	planes "github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// typeHost is one entity type on a process: the region that a user has started there, and what its
// machines have told so far, which the checkers look at.
type typeHost struct {
	p       *Process
	index   int
	t       sharding.EntityType[handlers.Message]
	proxy   bool
	limited bool
	idles   bool // idle entities are passivated
	region  *sharding.Region[handlers.Message]
	plane   *planes.Plane // nil: no machine has taken a step
	closing bool          // its users have not started it, or have closed it and not started it again
	left    bool          // and nothing of it is here, or not any more
	view    *view.View    // as the coordinator has it
	since   int64         // when its members were last others than before
	shards  map[protocol.ShardID]*hosting
	routes  map[protocol.ShardID]protocol.Route
	acts    bool // the coordinator
	// waits is how many messages waited for homes after the last event; putsBack: since then a shard
	// was closed, and what its mailboxes held waits too, whatever the limits.
	waits     int64
	putsBack  bool
	questions questions
	order     *sequence.Region // since the type was started
}

// hosting is a shard that runs on a process, by what its machine has said.
type hosting struct {
	shard    protocol.ShardID
	entities map[protocol.EntityID]*life
	forgets  map[uint64][]protocol.EntityID // ids that a write under way takes out, by its number
}

// life is an entity of a hosted shard.
type life struct {
	active   bool
	stopping bool
	running  int   // handlers
	waiting  int   // of these, those that wait for a result
	used     int64 // when it was started, or its last handler began or ended
}

func newHosting(s protocol.ShardID) *hosting {
	return &hosting{shard: s, entities: map[protocol.EntityID]*life{}, forgets: map[uint64][]protocol.EntityID{}}
}

func (h *hosting) life(id protocol.EntityID) *life {
	l := h.entities[id]
	if l == nil {
		l = &life{}
		h.entities[id] = l
	}
	return l
}

// active counts the entities.
func (h *hosting) active() (n int) {
	for _, l := range h.entities { // order: a sum
		if l.active {
			n++
		}
	}
	return n
}

func typeName(index int) string { return fmt.Sprintf("T%d", index) }

// startTypes has the users of a process start their types.
func (p *Process) startTypes() {
	probe := host.Attach(p.node.host(), func() *planes.Probe { return &planes.Probe{} })
	probe.Defects, probe.Stepped = p.w.planted.Machines, p.stepped
	if p.w.opt.Shards == 0 {
		return
	}
	for i := range p.w.opt.EntityTypes {
		t := newTypeHost(p, i)
		p.types = append(p.types, t)
		if late := t.lateness(); late > 0 {
			t.closing, t.left = true, true
			p.w.after(late, p, t.startWhenLeft)
			continue
		}
		p.rt.Enter(func() {
			if !t.start() {
				p.w.violate("sharding", "%v does not start %s", p, t.t.Name)
			}
		})
	}
}

// isProxy reports whether a process hosts no shards of any type.
func isProxy(p *Process) bool {
	o := &p.w.opt
	return o.Proxy && o.Nodes > 1 && p.slot.index == o.Nodes-1
}

// lateness is how much later than the process its users start a type: after a while, or, if the process
// is of a version without it, when the world has healed.
func (d *typeHost) lateness() time.Duration {
	if d.p.w.opt.LateTypes == 0 || d.p.late.IntN(2) == 0 {
		return 0
	}
	late := time.Duration(random.Between(d.p.late, 1, int64(d.p.w.opt.LateTypes)))
	if heals := d.p.w.opt.Safety - time.Duration(d.p.w.now); d.p.w.opt.LackTypes && heals > 0 {
		late += heals
		d.p.w.counts.TypesLacked++
	}
	return late
}

func newTypeHost(p *Process, index int) *typeHost {
	o := &p.w.opt
	remember := o.Remember && index == 0
	d := &typeHost{
		p: p, index: index, shards: map[protocol.ShardID]*hosting{}, routes: map[protocol.ShardID]protocol.Route{},
		proxy:   isProxy(p) || p.replica(o.RoleOfType(index)) == nil,
		limited: o.ActiveLimit > 0 && !remember,
	}
	d.t = sharding.EntityType[handlers.Message]{
		Identity: sharding.Identity{
			Name: typeName(index), Role: o.RoleOfType(index), Shards: p.w.planted.Shards(o.Shards, p.slot.started),
		},
		Remember: sharding.Remember{Entities: remember},
		Messages: sharding.CBOR[handlers.Message](handlers.Note(0), handlers.Query(0)), New: d.newEntity,
		Supervision: sharding.Supervision{
			Decide: sharding.Always(o.Directive), Backoff: 50 * time.Millisecond, BackoffMax: 2 * time.Second,
		},
		Timeouts:   sharding.Timeouts{Ask: askTimeout, HandlerSlow: -1},
		Allocation: sharding.Allocation{Strategy: p.w.allocator(p)},
		Rebalance:  sharding.Rebalance{Interval: o.Rebalance, Delay: p.w.planted.Delay(o.RebalanceDelay)},
		HandOff: sharding.HandOff{
			StopTimeout: o.StopTimeout, BeginTimeout: 3 * o.StopTimeout, FinishTimeout: 5 * o.StopTimeout,
		},
		Leases: sharding.Leases{RetryInterval: p.w.planted.Retry(o.LeaseRetry)}, Limits: o.Limits,
		OnEvent: d.hear,
	}
	p.w.ledgers.Keep(persistedOn(p), d.t.Name, &d.t.Coordination, &d.t.Remember)
	if p.w.planted.Boundless {
		d.t.Limits.MailboxMax, d.t.Limits.MailboxBytes, d.t.Limits.RegionBytes = 0, 0, 0
		d.t.Limits.BufferMax, d.t.Limits.BufferBytes = 0, 0
	}
	d.idles = o.IdleTimeout > 0 && !remember // what is remembered goes only when it is asked to
	d.t.Passivation.Strategy.None = !d.limited && !d.idles
	if d.limited {
		d.t.Passivation.Strategy = o.Passivation
		d.t.Passivation.Strategy.ActiveEntityLimit = o.ActiveLimit
	}
	if d.idles {
		d.t.Passivation.Strategy.IdleTimeout, d.t.Passivation.Strategy.IdleInterval = o.IdleTimeout, o.IdleTimeout/2
	}
	d.t.Passivation.StopTimeout = o.StopTimeout
	p.w.operator.leases.Configure(p.uid, &d.t.Leases, p.locks())
	return d
}

// start starts the type. It reports false if something of an earlier one still runs.
func (d *typeHost) start() bool {
	d.order = d.p.w.shardChecker.order.Region(d.p.uid, d.index)
	region, err := sharding.StartAt(d.p.node.host(), d.t, d.proxy)
	if err != nil {
		d.p.w.trace.Line(d.p, "%s does not start: %v", d.t.Name, err)
		return false
	}
	d.region, d.closing, d.left = region, false, false
	return true
}

// mayHost reports whether shards can live here.
func (d *typeHost) mayHost() bool { return !d.proxy && !d.closing }

// usable reports whether clients use the type here.
func (d *typeHost) usable() bool {
	p := d.p
	return p.usable() && !p.slot.leaving && !d.closing
}

// close closes the region for its users, while the node stays. Its machines go on.
func (d *typeHost) close() {
	d.closing = true
	d.p.w.counts.TypesClosed++
	d.p.w.trace.Line(d.p, "CLOSES %s", d.t.Name)
	d.p.rt.Enter(func() { d.left = d.region.Close(context.Background()) == nil })
}

// startAgain starts a type that is late or was closed, if nothing of it runs any more. A node starts
// one type at a time, and the next by a lock that no world could take back.
func (d *typeHost) startAgain() {
	p, w := d.p, d.p.w
	if !d.closing || !d.left || p.starts || p.slot.leaving || w.opt.Calm && d.plane.R.Routes.Limit.Count.Load() > 0 {
		return
	}
	w.trace.Line(p, "STARTS %s", d.t.Name)
	if d.plane == nil {
		w.counts.TypesLate++
	}
	d.left, p.starts = false, true
	p.rt.Enter(func() {
		if !d.start() {
			d.left = true
		}
		p.starts = false
	})
}

// mute reports whether the machines of a type that was closed do not answer, as it is planted.
func (p *Process) mute(ch transport.Channel) bool {
	return p.w.planted.Mute && slices.ContainsFunc(p.types, func(d *typeHost) bool {
		return d.closing && d.left && dataplane.ChannelOf(d.t.Name) == ch
	})
}

// typeOf finds the host of a plane's type.
func (p *Process) typeOf(c *planes.Plane) *typeHost {
	for _, t := range p.types {
		if t.t.Name == c.R.Name {
			return t
		}
	}
	return nil
}

// stepped looks at a step of a machine before its effects are carried out.
func (p *Process) stepped(c *planes.Plane, m planes.Machine, shard protocol.ShardID, in, fx any) {
	if every := p.w.opt.CheckEvery; every > 0 {
		if p.steps++; p.steps%every == 0 {
			if err := m.Check(); err != nil {
				p.w.violate("sharding.Check", "%v %s: %v", p, c.R.Name, err)
			}
		}
	}
	if p.w.trace.Watching() {
		p.w.trace.Line(p, "%s %T <- %T %v", c.R.Name, m, in, in)
		p.w.trace.Line(p, "%s %T -> %+v", c.R.Name, m, fx)
	}
	if fx, is := fx.(*protocol.CoordinatorEffects); is && p.mem.view != nil {
		p.w.ledgers.Stepped(persistedOn(p), c.R.Name, p.mem.view.Era, in, fx)
	}
	d := p.typeOf(c)
	if d == nil {
		return // of entities that keep their state: what those do is judged elsewhere
	}
	d.plane = c
	switch fx := fx.(type) {
	case *protocol.CoordinatorEffects:
		d.coordinatorStepped(m.(interface{ Acts() bool }).Acts(), in, fx)
	case *protocol.RegionEffects:
		d.regionStepped(in, fx)
	case *protocol.ShardEffects:
		d.shardStepped(shard, in, fx)
	}
}

func (d *typeHost) coordinatorStepped(acts bool, in any, fx *protocol.CoordinatorEffects) {
	if in, is := in.(protocol.Install); is {
		if d.view == nil || !sameMembers(d.view, in.View) {
			d.since = d.p.w.now
		}
		d.view = in.View
	}
	d.acts = acts
	d.checkReign()
	d.checkBegins(fx.Send)
}

func (d *typeHost) regionStepped(in any, fx *protocol.RegionEffects) {
	d.order.Stepped(d.p.w.now, in, fx)
	for _, a := range fx.Do {
		switch a := a.(type) {
		case protocol.SetRoute:
			d.routes[a.Shard] = a.Route
		case protocol.StartShard:
			if d.shards[a.Shard] != nil {
				d.p.w.violate("sharding", "%v %s: shard %v is started twice", d.p, d.t.Name, a.Shard)
			}
			d.checkStart(a.Shard)
			d.checkRests(a.Shard)
			d.shards[a.Shard] = newHosting(a.Shard)
			d.p.w.counts.Starts++
		case protocol.StopShard:
			d.p.w.counts.HandOffs++
		case protocol.CloseShard:
			delete(d.shards, a.Shard)
			d.putsBack = true
		case protocol.KillShard:
			delete(d.shards, a.Shard)
		}
	}
	for _, env := range fx.Send {
		d.checkUnable(env.Msg)
		if m, is := env.Msg.(protocol.GetHomes); is {
			d.p.w.shardChecker.asksHome(d.p.w, d.index, m.Shards)
		}
	}
}

func (d *typeHost) shardStepped(number protocol.ShardID, in any, fx *protocol.ShardEffects) {
	h := d.shards[number]
	if h == nil {
		return // it was killed in the step of the region before
	}
	switch in := in.(type) {
	case protocol.EntityStopped:
		l := h.life(in.ID)
		l.active, l.stopping = false, false
		l.running, l.waiting = l.running-l.waiting, 0 // no result comes any more
	case protocol.Passivate:
		d.passivates(h, in)
	case protocol.Wrote:
		d.wrote(h, in)
	}
	d.writes(h, fx.Write)
	for _, a := range fx.Do {
		switch a := a.(type) {
		case protocol.StartEntities:
			for _, id := range a.IDs {
				if l := h.life(id); l.active {
					d.p.w.violate("no entity twice", "%v starts T%d/%s, which it runs already", d.p, d.index, id)
				} else {
					l.active, l.used = true, d.p.w.now
					d.checkAlone(h, id, false)
					d.checkAwake(h, id)
				}
			}
		case protocol.StopEntity:
			h.life(a.ID).stopping = true
		case protocol.ForceStop:
			h.life(a.ID).stopping = true
		case protocol.StopEntities, protocol.ForceStopEntities:
			for _, l := range h.entities { // order: all
				l.stopping = l.active
			}
		}
	}
}

// hosted lists, in order, the shards that are hosted.
func (d *typeHost) hosted() (all []protocol.ShardID) {
	for s := range d.shards { // order: sorted
		all = append(all, s)
	}
	slices.Sort(all)
	return all
}

// isLate reports whether users have yet to start a type for the first time.
func isLate(d *typeHost) bool { return d.closing && d.region == nil }

// isNew reports whether no coordinator knows of the region: it is closed without a hand-over.
func (d *typeHost) isNew() bool { return d.plane == nil || d.plane.R.Standing.IsNew() }
