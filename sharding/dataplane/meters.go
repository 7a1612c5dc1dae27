package dataplane

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The histograms of an entity type on one node.
var (
	mMove = &events.Metric{
		Name: "coterie_sharding_move_duration_seconds",
		Help: "Time from the begin of a hand-off, or the loss of a home, until the next home has answered.",
		Kind: events.Histogram, Labels: []string{"type"},
		Buckets: []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
	}
	mAsk = &events.Metric{
		Name: "coterie_sharding_ask_duration_seconds",
		Help: "Time of questions of this node that were answered without an error.",
		Kind: events.Histogram, Labels: []string{"type"},
		Buckets: []float64{
			.00001, .000025, .00005, .0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5,
			10,
		},
	}
)

// Meters is what a region measures for a Meter, beside what it counts in any case. Nothing of it is
// there without one.
type Meters struct {
	move, ask events.Observer

	mu       sync.Mutex
	machines map[string][]protocol.Counter // as they were after the latest steps; each list is never changed
}

func newMeters(m events.Meter, typ string) *Meters {
	if m == nil {
		return nil
	}
	return &Meters{
		move: m.Histogram(mMove, typ), ask: m.Histogram(mAsk, typ), machines: map[string][]protocol.Counter{},
	}
}

// Noted observes what an event says.
func (m *Meters) Noted(e protocol.Event) {
	if m != nil && e.Kind == protocol.ShardMoved && e.Took > 0 {
		m.move.Observe(context.Background(), e.Took.Seconds())
	}
}

// now is the region's clock; 0 without a Meter.
func (m *Meters) now(r *Plane) time.Duration {
	if m == nil {
		return 0
	}
	return r.Entities.Clock()
}

// answered observes the time of a question, which was asked under ctx.
func (m *Meters) answered(ctx context.Context, r *Plane, began time.Duration) {
	if m != nil {
		m.ask.Observe(ctx, (r.Entities.Clock() - began).Seconds())
	}
}

// Machine keeps the counts of a machine for the Meter.
func (m *Meters) Machine(name string, stats func() []protocol.Counter) {
	if m == nil {
		return
	}
	s := stats()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.machines[name] = s
}
