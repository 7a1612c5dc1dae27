package sharding

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/sharding/dataplane"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/coordinator"
	"github.com/coterie-go/coterie/sharding/protocol/region"
	"github.com/coterie-go/coterie/sharding/remember"
)

// engine is what has to be stopped.
type engine struct {
	plane   *dataplane.Plane
	control *control
	asides  *asides
	// A region is closed for its users first, and may end much later: when its node does, or when
	// its type is started there again.
	closing                        atomic.Bool // Close was called
	closeOnce, refuseOnce, endOnce sync.Once

	mu           sync.Mutex
	cancels      []func()
	unregistered bool                    // what is registered from now on is cancelled at once
	unmeter      func()                  // nil: there is no Meter
	onClose      func()                  // nil: Close ends it
	successor    atomic.Pointer[absence] // it answers other nodes' machines when these have ended; nil: the node ends too
	absence      *absence                // of the type on the node; nil: there is no node
}

// controlSettings are what the control plane needs to know of an entity type.
type controlSettings struct {
	machines protocol.Config
	store    remember.Store // nil: the ids are in the replicated data
	quorums  StateSettings
	onEvent  func(protocol.Event) // nil: no hook
}

func newEngine(p Ports, r *dataplane.Plane, t controlSettings) (*engine, error) {
	c, err := newControl(p, r, t)
	if err != nil {
		return nil, err
	}
	if p.Broken != nil {
		c.inbox.loop.WhenBroken(func(b runloop.Broken) { p.Broken("region of entity type "+r.Name, b, c) })
		if c.coord != nil {
			c.coord.loop.WhenBroken(func(b runloop.Broken) { p.Broken("coordinator of entity type "+r.Name, b, c.coord.m) })
		}
	}
	r.IdleScan.Shards = r.Routes.Shards
	r.SteeredBy(c.inbox)
	return &engine{plane: r, control: c, asides: c.inbox.asides}, nil
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())) }

func newControl(p Ports, r *dataplane.Plane, t controlSettings) (*control, error) {
	machine, err := region.New(t.machines, newRand())
	if err != nil {
		return nil, err
	}
	work := newAsides()
	c := &control{
		r: r, cfg: t.machines, rng: newRand(), region: machine,
		mail:      &machineMail{typ: r.Name, log: r.Log, self: r.Self, out: &r.Out},
		notices:   &notices{typ: r.Name, log: r.Log, emit: p.Emit, hook: t.onEvent, meters: r.Meters},
		state:     &stateStore{typ: r.Name, data: p.State, quorums: t.quorums, remembered: newRemembered(t.store), asides: work},
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
	if p.State == nil {
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

// start lets everything loose, in the order in which one thing needs the other.
func (run *engine) start(p Ports) {
	r, c := run.plane, run.control
	c.inbox.loop.Start()
	if c.coord != nil {
		c.coord.loop.Start()
	}
	on := run.onCancel
	r.Out.Net.Handle(r.Out.Channel, r)
	on(func() {
		switch next := run.successor.Load(); {
		case next != nil:
			r.Out.Net.Handle(r.Out.Channel, stoppedRegion{r, next})
		case run.absence != nil: // the transport ends a little later, and calls lost what it has not brought
			r.Out.Net.Handle(r.Out.Channel, transport.HandlerFunc(stoppedRegion{r, run.absence}.Receive))
		default:
			r.Out.Net.Handle(r.Out.Channel, nil)
		}
	})
	run.observe(p)
	if p.BeforeLeave != nil {
		on(p.BeforeLeave(run.leaveForGood))
	}
	if p.BeforeExit != nil && c.coord != nil && c.coord.lease.client != nil {
		on(p.BeforeExit(c.coord.resign))
	}
	if p.Meter != nil {
		run.unmeter = p.Meter.Read(func(report func(*events.Metric, float64, ...string)) {
			dataplane.ReportMetrics(r, report)
			c.notices.report(report)
		})
	}
	r.IdleScan.Start()
}

// observe has the machines hear of what happens around the region.
func (run *engine) observe(p Ports) {
	r, c, on := run.plane, run.control, run.onCancel
	o := &observer{inbox: c.inbox, coord: c.coord, state: c.state, table: c.table, lease: &r.Lease, removed: r.Removed}
	on(p.Network.OnLink(o.linkChanged))
	on(p.Lease.OnLease(o.leaseChanged))
	o.leaseChanged(p.Lease.Holds())
	on(p.Cluster.OnReachable(o.reachable))
	on(o.follow())
	on(o.watch())
	on(p.Cluster.OnView(o.viewInstalled))
	if v := p.Cluster.View(); v != nil {
		o.viewInstalled(v)
	}
}
