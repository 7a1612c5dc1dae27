package sharding

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
)

// engine is what has to be stopped.
type engine struct {
	plane   *dataplane.Plane
	control *control.Plane
	// A region is closed for its users first, and may end much later: when its node does, or when
	// its type is started there again.
	closing               atomic.Bool               // Close was called
	leavingSince          atomic.Pointer[time.Time] // it hands all shards over; nil: it does not
	closeOnce, refuseOnce sync.Once
	ending                atomic.Bool   // end was called
	over                  chan struct{} // closed when end is over

	mu           sync.Mutex
	cancels      []func()
	unregistered bool   // what is registered from now on is cancelled at once
	unmeter      func() // nil: there is no Meter
	onClose      func() // nil: Close ends it
	// it answers other nodes' machines when these have ended; nil: the node ends too
	successor atomic.Pointer[absence]
	absence   *absence // of the type on the node; nil: there is no node
}

func newEngine(p Ports, r *dataplane.Plane, t control.Settings) (*engine, error) {
	t.Data, t.UserData, t.Emit = p.State, p.UserData, p.Emit
	c, err := control.New(r, t)
	if err != nil {
		return nil, err
	}
	if p.Broken != nil {
		c.WhenBroken(p.Broken)
	}
	return &engine{plane: r, control: c, over: make(chan struct{})}, nil
}

// start lets everything loose, in the order in which one thing needs the other.
func (run *engine) start(p Ports) {
	r, c := run.plane, run.control
	c.Start()
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
	for _, cancel := range c.Observe(p.Network, p.Lease, p.Cluster) {
		on(cancel)
	}
	if p.BeforeLeave != nil {
		on(p.BeforeLeave(run.leaveForGood))
	}
	if p.BeforeExit != nil && c.Coord != nil && c.Cfg.CoordinatorTakesLease() {
		on(p.BeforeExit(c.Coord.Resign))
	}
	if p.Meter != nil {
		run.unmeter = p.Meter.Read(func(report func(*events.Metric, float64, ...string)) {
			dataplane.ReportMetrics(r, report)
			c.Notices.Report(report)
			if c.Reminders != nil {
				c.Reminders.Report(report)
			}
		})
	}
	r.Entities.StartScans()
}
