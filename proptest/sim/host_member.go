package sim

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/drivers"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nodelease"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/durable"
	"github.com/coterie-go/coterie/proptest/sim/clock"
	"github.com/coterie-go/coterie/proptest/sim/disks"
	"github.com/coterie-go/coterie/proptest/sim/network"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/views"
)

// memberHost is the simulated host of the driver of a process's membership machine.
type memberHost struct {
	p     *Process
	d     *drivers.Members
	m     *membership.Machine
	timer *clock.Timer
	table durable.Table
	steps int

	view    *view.View // installed last
	oldest  bool       // of view, counted by the simulator itself
	leads   []string   // the roles of which it is the oldest there, likewise
	stopped bool       // said Stopped
	agreed  view.Epoch // the last under which it has said Agreed
}

var _ drivers.MembersHost = (*memberHost)(nil)

func newMemberHost(p *Process) (*memberHost, error) {
	d := &memberHost{p: p, table: p.slot.disk.Table(disks.Record)}
	var record []byte
	err := d.table.Load(func(r durable.Row) error {
		record = append(record, r.Value...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	d.m, err = membership.New(d.config(record != nil), p.w.rs.Stream("membership", p.uid), record)
	if err != nil {
		return nil, err
	}
	d.d = drivers.NewMembers(d.m, d, p.Time())
	d.d.Trace(d.stepped)
	d.timer = clock.NewTimer(func() { d.step(membership.Tick{}) })
	return d, nil
}

// config is what an operator would write: the first nodes found a cluster, later ones only join,
// unless their disk says that they have been members and may be needed to found it anew.
func (d *memberHost) config(known bool) membership.Config {
	o, disk := d.p.w.opt, d.p.slot.disk
	c := o.Times()
	c.UID, c.Addr, c.Name, c.Roles = view.UID(d.p.uid), d.p.slot.addr, "sim", d.p.slot.roles
	c.Disk, c.DiskSince, c.DiskEnded = view.DiskID(disk.ID()), disk.Since(d.p.Time(), &d.p.clock), disk.Ended()
	for _, s := range d.p.w.slots[:o.Nodes] {
		c.Seeds = append(c.Seeds, s.addr)
	}
	switch {
	case !known && d.p.slot.index >= o.Nodes:
	case !known && d.p.slot.renewed && o.Nodes == 1: // with an empty disk it would found another cluster, alone
	case d.p.w.operator.expect > 0:
		c.BootstrapExpect, c.BootstrapAnyDisks = d.p.w.operator.expect, d.p.w.operator.anyDisks
	default:
		c.BootstrapExpect = o.Nodes
	}
	w := d.p.w
	c.Formats = w.operator.builds.Start(d.p.slot.index, d.p.uid, w.now > int64(o.Safety)/2,
		slices.ContainsFunc(w.live, func(p *Process) bool { return p.mem.view != nil }), w.healed)
	c.Strategy, c.VotersMax, c.RetireAfter = w.planted.Strategy(o.Strategy), o.VotersMax, o.RetireAfter
	c.DurableKeys = o.NewKeys.At(d.p.uid, w.now, d.p.slot.roles)
	c.Plant(d.p.w.planted.Machines)
	return c
}

func (d *memberHost) start() {
	d.step(membership.Tick{})
	d.hint()
}

// step lets the machine take one input.
func (d *memberHost) step(in membership.Input) {
	d.d.Step(d.p.Time(), in)
	if d.p.alive {
		d.p.arm(d.timer, d.m.Deadline())
	}
}

// stepped looks at a step before its effects are carried out.
func (d *memberHost) stepped(in membership.Input, e *membership.Effects) {
	p, w := d.p, d.p.w
	if w.trace.Watching() {
		w.trace.Line(p, "M <- %v\n%s", in, trace.Prefixed("M -> ", e.String()))
	}
	if agreed, is := in.(membership.Agreed); is {
		d.agreed = agreed.Epoch
	}
	d.check()
	if d.m.View() != nil {
		p.slot.disk.Work() // before anything of it is carried out
	}
	if w.stopping != nil && w.stopping.mute && e.Done != nil {
		w.counts.Lost += uint64(len(e.Send))
		e.Send = nil
	}
}

func (d *memberHost) check() {
	every := d.p.w.opt.CheckEvery
	if d.steps++; every < 0 || d.steps%every != 0 {
		return
	}
	if err := d.m.Check(); err != nil {
		d.p.w.violate("membership.Check", "%v: %v", d.p, err)
	}
}

// Publish implements drivers.MembersHost. The lease is read where it is needed.
func (d *memberHost) Publish(nodelease.Lease) {}

// Write implements drivers.MembersHost.
func (d *memberHost) Write(record []byte) {
	d.p.w.trace.FoldBytes(record)
	d.p.effect(func() { d.commit(record) })
}

func (d *memberHost) commit(record []byte) {
	d.p.slot.disk.Commit(d.p, d.table, []durable.Row{{Key: []byte("record"), Value: record}}, func(err error) {
		if d.p.w.planted.Recordless {
			err = nil
		}
		d.step(membership.Persisted{Err: err})
	})
}

// Covers implements drivers.MembersHost. The simulated disk always takes its mark.
func (d *memberHost) Covers(time.Time) bool { return true }

// Unmarked implements drivers.MembersHost.
func (d *memberHost) Unmarked(message.Envelope) {}

// Connect implements drivers.MembersHost.
func (d *memberHost) Connect(v *view.View) { d.p.effect(func() { d.p.node.connect(v) }) }

// Disconnect implements drivers.MembersHost.
func (d *memberHost) Disconnect() {
	d.p.effect(func() { d.p.node.wires.disconnect(d.p.node.view) })
}

// Send implements drivers.MembersHost.
func (d *memberHost) Send(e message.Envelope, payload []byte) {
	to, addr := e.To, e.Addr
	if d.p.acts() {
		d.send(to, addr, payload)
	} else {
		d.p.halt.keep(func() { d.send(to, addr, payload) })
	}
}

func (d *memberHost) send(to view.UID, addr string, payload []byte) {
	if to == 0 {
		d.p.w.net.SendAddr(d.p, addr, network.ToMember, payload)
	} else {
		d.p.w.net.Send(d.p, uint64(to), network.Control, network.ToMember, 0, payload)
	}
}

// Done implements drivers.MembersHost.
func (d *memberHost) Done(why error) { d.p.effect(func() { d.p.done(why) }) }

func (d *memberHost) receive(pk network.Packet) {
	m, err := message.Decode(pk.Payload)
	if err != nil {
		d.p.w.violate("wire", "membership message does not decode: %v", err)
		return
	}
	d.step(membership.Receive{From: view.UID(pk.From), FromAddr: d.p.w.procs[pk.From].slot.addr, Msg: m})
}

// Install implements drivers.MembersHost.
func (d *memberHost) Install(v *view.View) { d.p.effect(func() { d.install(v) }) }

func (d *memberHost) install(v *view.View) {
	d.view = v
	d.oldest, d.leads = views.IsOldest(v, view.UID(d.p.uid), ""), d.leads[:0]
	for _, role := range d.p.slot.roles {
		if views.IsOldest(v, view.UID(d.p.uid), role) {
			d.leads = append(d.leads, role)
		}
	}
	d.p.w.trace.Fold(5, d.p.uid, uint64(v.Epoch))
	for _, j := range d.p.w.checkers.all {
		if i, ok := j.(interface {
			installed(*World, *Process, *view.View)
		}); ok {
			i.installed(d.p.w, d.p, v)
		}
	}
	for _, s := range d.p.w.datasets {
		s.history.Agreed(view.PatternsOf(v.Durable, s.role), func(slot int) bool {
			for uid := range views.Full(v, s.role) {
				if d.p.w.procs[uint64(uid)].slot.index == slot {
					return true
				}
			}
			return false
		})
	}
	if f := d.p.w.chaos.onInstall; f != nil {
		f(v)
	}
	d.p.eachReplica(func(r *replicaHost) { r.install(v) })
	d.p.node.install(v)
}

// Event implements drivers.MembersHost.
func (d *memberHost) Event(ev membership.Event) { d.p.effect(func() { d.event(ev) }) }

func (d *memberHost) event(ev membership.Event) {
	switch ev := ev.(type) {
	case membership.MemberUnreachable:
		d.p.eachReplica(func(r *replicaHost) { r.reachable(uint64(ev.Member.UID), false) })
		d.p.node.reachable(ev.Member.UID, false)
	case membership.MemberReachable:
		d.p.eachReplica(func(r *replicaHost) { r.reachable(uint64(ev.Member.UID), true) })
		d.p.node.reachable(ev.Member.UID, true)
	case membership.LeaseLost:
		d.p.node.leaseChanged(false)
	case membership.LeaseRegained:
		d.p.node.leaseChanged(true)
	case membership.Forked:
		d.p.w.violate("one view per epoch", "%v: %v", d.p, ev)
	}
}

// sayStopped tells the machine that nothing runs here any more.
func (d *memberHost) sayStopped() {
	d.stopped = true
	d.step(membership.Stopped{})
}

// down is an operator's verdict.
func (d *memberHost) down(uid uint64) { d.step(membership.Down{UID: view.UID(uid)}) }

// holds reports whether the process may run things now, by the machine's word alone.
func (d *memberHost) holds(now time.Time) bool {
	return d.p.node.reason == nil && d.m.Lease().Holds(now)
}

// acting reports whether this process is the one that may coordinate for a role: oldest of that role,
// under its lease, and not standing still.
func (d *memberHost) acting(role string, now time.Time) bool {
	return !d.p.frozen && slices.Contains(d.leads, role) && d.holds(now)
}

// proposing reports whether this process is the one that proposes views: oldest of all, under its
// lease, and not standing still.
func (d *memberHost) proposing(now time.Time) bool { return d.oldest && !d.p.frozen && d.holds(now) }

// hint plays memberlist: now and then it believes something of some node, mostly the truth of a few
// seconds ago.
func (d *memberHost) hint() {
	p, w := d.p, d.p.w
	other := w.slots[p.rng.IntN(len(w.slots))]
	if other != p.slot && other.started > 0 {
		alive := other.proc != nil && w.net.Connected(p.slot.index, other.index)
		if w.opt.FalseHints && !w.healed && p.rng.IntN(10) == 0 {
			alive = !alive
		}
		h := membership.Hint{Addr: other.addr, Alive: alive}
		if other.proc != nil {
			h.UID = view.UID(other.proc.uid)
		} else if d.view != nil {
			for _, m := range d.view.Members {
				if m.Addr == h.Addr {
					h.UID = m.UID
				}
			}
		}
		d.step(h)
	}
	if p.alive {
		w.at(w.now+random.Between(p.rng, int64(500*time.Millisecond), int64(4*time.Second)), p, d.hint)
	}
}
