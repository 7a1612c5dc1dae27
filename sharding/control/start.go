package control

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/coordinator"
	"github.com/coterie-go/coterie/sharding/protocol/region"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remind/agenda"
)

// Settings are what a control plane is made of.
type Settings struct {
	Machines protocol.Config
	Store    remember.Store // nil: the ids are in the replicated data
	Ledger   *ledger.Ledger // nil: homes and regions are in the replicated data, too
	// Reminders says whether entities may set reminders.
	Reminders agenda.Settings
	Meter     events.Meter // nil: there is none
	Quorums   Quorums
	OnEvent   events.Listener    // of the type; nil: none
	Data      host.Data          // the role's reserved data; nil: the node has no replica, and no coordinator
	UserData  host.Data          // the users' data of the role, for reminders; nil likewise
	Emit      func(events.Event) // nil: the log takes events
	Probe     *Probe             // of a simulation; nil: none
}

func newRand(s scheduler.Scheduler) *rand.Rand { return rand.New(rand.NewPCG(s.Uint64(), s.Uint64())) }

// New makes the control plane of a data plane, which hears of it at once.
func New(r *dataplane.Plane, t Settings) (*Plane, error) {
	machine, err := region.New(t.Machines, newRand(r.Scheduler))
	if err != nil {
		return nil, err
	}
	work := NewAsides(r.Scheduler)
	c := &Plane{
		R: r, probe: t.Probe, Cfg: t.Machines, rng: newRand(r.Scheduler), region: machine,
		mail:    &machineMail{typ: r.Name, log: r.Log, self: r.Self, out: &r.Out},
		Notices: &notices{typ: r.Name, log: r.Log, emit: t.Emit, hook: t.OnEvent, meters: r.Meters},
		State: &StateStore{
			Type: r.Name, Data: t.Data, Quorums: t.Quorums.WithDefaults(),
			remembered: newRemembered(t.Store, r.Scheduler), Asides: work,
			ledgered: newLedgered(t.Ledger, r.Scheduler),
		},
		table:     &tableFeed{},
		forwards:  &forwards{asides: work, scheduler: r.Scheduler, timeout: r.Timeouts.Ask, start: r.StartEntity},
		Leases:    newLeaseClients(work.ctx, r),
		Hosted:    Hostings{ByShard: map[uint32]*Hosting{}},
		homes:     make(homes, t.Machines.Shards),
		remotes:   remotes{},
		Retries:   NewRetries(r),
		unhosted:  unhostedWatch{typ: r.Name, role: r.Role, log: r.Log, limit: &r.Routes.Limit, standing: &r.Standing},
		Departure: Departure{Left: make(chan struct{})},
	}
	c.Inbox = &inbox{
		typ: r.Name, log: r.Log, loop: runloop.New[Input](r.Scheduler, c, inboxMax), mail: c.mail,
		admin: newAdmission(r), asides: work,
	}
	c.mail.region = mailbag{newAdmission(r), func(in protocol.Receive, from runloop.Permit) {
		c.Inbox.put(Input{Region: in, from: from})
	}}
	r.SteeredBy(c.Inbox)
	if t.Data == nil {
		return c, nil
	}
	m, err := coordinator.New(t.Machines, newRand(r.Scheduler))
	if err != nil {
		return nil, err
	}
	c.coordinate(m)
	c.Reminders = newReminders(c, t)
	c.load = newLoadMeter(t.Machines, r.Scheduler.Now())
	r.Entities.Measures = c.load.every > 0
	return c, nil
}

// coordinate has a Coordinator run beside the region.
func (c *Plane) coordinate(m *coordinator.Coordinator) {
	d := &coordination{
		stepping: c.probe.stepping, stepped: func(m Machine, in, fx any) { c.probe.stepped(c, m, 0, in, fx) },
		m: m, scheduler: c.R.Scheduler, strategy: c.Cfg.Allocation.Strategy, mail: c.mail,
		notices: c.Notices, state: c.State,
		forwards: c.forwards, reminded: reminded{shards: map[protocol.ShardID]bool{}},
		standing: &c.R.Standing, meters: c.R.Meters, lease: coordinatorLease{client: c.Leases.ofCoordinator()},
		unlisted: func(shards []protocol.ShardID) {
			c.Inbox.Do(func(c *Plane, _ time.Time) { c.toHosted(protocol.Unlisted{}, shards...) })
		},
	}
	d.loop = runloop.New[coordInput](d.scheduler, d, inboxMax)
	c.Coord = d
	c.mail.coordinator = mailbag{newAdmission(c.R), func(in protocol.Receive, from runloop.Permit) {
		d.loop.Force(coordInput{in: in, from: from})
	}}
}

// WhenBroken has fn called when a machine has panicked: name says which, and state prints itself.
// It must be called before start.
func (c *Plane) WhenBroken(fn func(name string, b runloop.Broken, state fmt.Stringer)) {
	c.Inbox.loop.WhenBroken(func(b runloop.Broken) { fn("region of entity type "+c.R.Name, b, c) })
	if r := c.Reminders; r != nil {
		r.WhenBroken(func(b runloop.Broken) { fn("reminders of entity type "+c.R.Name, b, c) })
	}
	if d := c.Coord; d != nil {
		d.loop.WhenBroken(func(b runloop.Broken) { fn("coordinator of entity type "+c.R.Name, b, d.m) })
	}
}

// Start lets the machines run.
func (c *Plane) Start() {
	c.Inbox.loop.Start()
	if c.Reminders != nil {
		c.Reminders.Start()
	}
	if c.Coord != nil {
		c.Coord.loop.Start()
	}
}

// Observe has the machines hear of what happens around the region. Each result ends one part of it.
func (c *Plane) Observe(network host.Channels, lease host.Lease, cluster host.Cluster) (cancel []func()) {
	o := &observer{
		inbox: c.Inbox, coord: c.Coord, state: c.State, table: c.table, lease: c.R.Entities.Lease,
		removed: c.R.Farewells.Removed,
	}
	cancel = append(cancel, network.OnLink(o.linkChanged), lease.OnLease(o.leaseChanged))
	o.leaseChanged(lease.Holds())
	cancel = append(cancel, cluster.OnReachable(o.reachable), o.follow(), o.watch(),
		watchReminders(c.Reminders, c.Coord), cluster.OnView(o.viewInstalled))
	if v := cluster.View(); v != nil {
		o.viewInstalled(v)
	}
	if c.Coord != nil { // what acts on a view that lists this node hears of views now
		cluster.Offer(c.Cfg.Service())
	}
	return cancel
}

// Left is closed when nothing of the region is left here.
func (c *Plane) Left() <-chan struct{} { return c.Departure.Left }

// Refuse ends the work beside the loops: what comes from now on is not begun.
func (c *Plane) Refuse() { c.Inbox.asides.end() }

// EndMachines stops the coordinator, and then everything that is hosted.
func (c *Plane) EndMachines() {
	if c.Coord != nil {
		// if it acts, it says that it does not any more; if it has broken, it cannot
		c.R.Scheduler.Await(c.Coord.stepDown(), c.Coord.loop.Stopped(), nil)
		c.Coord.stop()
	}
	c.endHosting()
}

// Stop ends the loop. Nothing may be told any more.
func (c *Plane) Stop() {
	if c.Reminders != nil {
		c.Reminders.Stop()
	}
	c.Inbox.loop.Stop()
}

// AwaitWork waits until nothing is at work beside the loops.
func (c *Plane) AwaitWork() { c.Inbox.asides.await() }

// Predecessor is what the region and the coordinator, when they have ended, leave to the next of
// their node.
func (c *Plane) Predecessor() protocol.Predecessor {
	p := c.region.Predecessor()
	if c.Coord != nil {
		p.Seq = c.Coord.m.Predecessor().Seq
	}
	return p
}

// StopShards asks for shards to stop for good. done is closed when they have; forget ends the wait.
func (c *Plane) StopShards(shards []protocol.ShardID) (done <-chan struct{}, forget func()) {
	w := newStopWait(shards)
	c.Inbox.Do(func(c *Plane, _ time.Time) {
		c.Stops.add(w)
		c.toRegion(protocol.StopShards{Shards: shards})
	})
	return w.Done, func() { c.Inbox.Do(func(c *Plane, _ time.Time) { c.Stops.forget(w) }) }
}
