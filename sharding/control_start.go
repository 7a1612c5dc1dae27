package sharding

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/host"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/coordinator"
	"github.com/coterie-go/coterie/sharding/protocol/region"
	"github.com/coterie-go/coterie/sharding/remember"
)

// controlSettings are what a control plane is made of.
type controlSettings struct {
	machines protocol.Config
	store    remember.Store // nil: the ids are in the replicated data
	quorums  quorums
	onEvent  func(protocol.Event) // the user's; nil: no hook
	data     host.Data            // nil: the node has no replica of the role's data, and no coordinator
	emit     func(events.Event)   // nil: the log takes events
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

// newControl makes the control plane of a data plane, which hears of it at once.
func newControl(r *dataplane.Plane, t controlSettings) (*control, error) {
	machine, err := region.New(t.machines, newRand())
	if err != nil {
		return nil, err
	}
	work := newAsides()
	c := &control{
		r: r, cfg: t.machines, rng: newRand(), region: machine,
		mail:      &machineMail{typ: r.Name, log: r.Log, self: r.Self, out: &r.Out},
		notices:   &notices{typ: r.Name, log: r.Log, emit: t.emit, hook: t.onEvent, meters: r.Meters},
		state:     &stateStore{typ: r.Name, data: t.data, quorums: t.quorums, remembered: newRemembered(t.store), asides: work},
		table:     &tableFeed{},
		forwards:  &forwards{asides: work, timeout: r.AskTimeout, start: r.StartEntity},
		leases:    newLeaseClients(work.ctx, r),
		hosted:    hostings{byShard: map[uint32]*hosting{}},
		homes:     make(homes, t.machines.Shards),
		retries:   newRetries(r),
		unhosted:  unhostedWatch{typ: r.Name, role: r.Role, log: r.Log, limit: &r.Routes.Limit, standing: &r.Standing},
		departure: departure{left: make(chan struct{})},
	}
	c.inbox = &inbox{
		typ: r.Name, log: r.Log, loop: runloop.New[ctlInput](c, inboxMax), mail: c.mail, admin: newAdmission(r), asides: work,
	}
	c.mail.region = mailbag{newAdmission(r), func(in protocol.Receive, from runloop.Permit) { c.inbox.put(ctlInput{region: in, from: from}) }}
	r.IdleScan.Shards = r.Routes.Shards
	r.SteeredBy(c.inbox)
	if t.data == nil {
		return c, nil
	}
	m, err := coordinator.New(t.machines, newRand())
	if err != nil {
		return nil, err
	}
	c.coordinate(m)
	c.load = newLoadMeter(t.machines, time.Now())
	r.Measures = c.load.every > 0
	return c, nil
}

// coordinate has a Coordinator run beside the region.
func (c *control) coordinate(m *coordinator.Coordinator) {
	d := &coordination{
		m: m, strategy: c.cfg.Strategy, mail: c.mail, notices: c.notices, state: c.state, forwards: c.forwards,
		standing: &c.r.Standing, meters: c.r.Meters, lease: coordinatorLease{client: c.leases.ofCoordinator()},
		unlisted: func(shards []protocol.ShardID) {
			c.inbox.do(func(c *control, _ time.Time) { c.toHosted(protocol.Unlisted{}, shards...) })
		},
	}
	d.loop = runloop.New[coordInput](d, inboxMax)
	c.coord = d
	c.mail.coordinator = mailbag{newAdmission(c.r), func(in protocol.Receive, from runloop.Permit) { d.loop.Force(coordInput{in: in, from: from}) }}
}

// whenBroken has fn called when a machine has panicked: name says which, and state prints itself.
// It must be called before start.
func (c *control) whenBroken(fn func(name string, b runloop.Broken, state fmt.Stringer)) {
	c.inbox.loop.WhenBroken(func(b runloop.Broken) { fn("region of entity type "+c.r.Name, b, c) })
	if d := c.coord; d != nil {
		d.loop.WhenBroken(func(b runloop.Broken) { fn("coordinator of entity type "+c.r.Name, b, d.m) })
	}
}

// start lets the machines run.
func (c *control) start() {
	c.inbox.loop.Start()
	if c.coord != nil {
		c.coord.loop.Start()
	}
}

// observe has the machines hear of what happens around the region. Each result ends one part of it.
func (c *control) observe(network host.Channels, lease host.Lease, cluster host.Cluster) (cancel []func()) {
	o := &observer{inbox: c.inbox, coord: c.coord, state: c.state, table: c.table, lease: &c.r.Lease, removed: c.r.Removed}
	cancel = append(cancel, network.OnLink(o.linkChanged), lease.OnLease(o.leaseChanged))
	o.leaseChanged(lease.Holds())
	cancel = append(cancel, cluster.OnReachable(o.reachable), o.follow(), o.watch(), cluster.OnView(o.viewInstalled))
	if v := cluster.View(); v != nil {
		o.viewInstalled(v)
	}
	return cancel
}

// left is closed when nothing of the region is left here.
func (c *control) left() <-chan struct{} { return c.departure.left }

// tell has the Region machine step. Any goroutine may call it.
func (c *control) tell(in protocol.RegionInput) { c.inbox.toRegion(in) }

// refuse ends the work beside the loops: what comes from now on is not begun.
func (c *control) refuse() { c.inbox.asides.end() }

// endMachines stops the coordinator, and then everything that is hosted.
func (c *control) endMachines() {
	if c.coord != nil {
		select {
		case <-c.coord.stepDown(): // if it acts, it says that it does not any more
		case <-c.coord.loop.Stopped(): // it has broken
		}
		c.coord.stop()
	}
	c.endHosting()
}

// stop ends the loop. Nothing may be told any more.
func (c *control) stop() { c.inbox.loop.Stop() }

// awaitWork waits until nothing is at work beside the loops.
func (c *control) awaitWork() { c.inbox.asides.await() }

// leasesSettled waits until what was held is given back, and leasesRest until no store of leases is
// at work. The loop must have ended what it hosted.
func (c *control) leasesSettled(ctx context.Context) error { return c.leases.settled(ctx) }
func (c *control) leasesRest(ctx context.Context) error    { return c.leases.rest(ctx) }

// predecessor is what the region and the coordinator, when they have ended, leave to the next of
// their node.
func (c *control) predecessor() protocol.Predecessor {
	p := c.region.Predecessor()
	if c.coord != nil {
		p.Seq = c.coord.m.Predecessor().Seq
	}
	return p
}

// stopShards asks for shards to stop for good. done is closed when they have; forget ends the wait.
func (c *control) stopShards(shards []protocol.ShardID) (done <-chan struct{}, forget func()) {
	w := newStopWait(shards)
	c.inbox.do(func(c *control, _ time.Time) {
		c.stops.add(w)
		c.toRegion(protocol.StopShards{Shards: shards})
	})
	return w.done, func() { c.inbox.do(func(c *control, _ time.Time) { c.stops.forget(w) }) }
}
