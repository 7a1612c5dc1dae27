package dataplane

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// The histograms of an entity type on one node.
var (
	mSlice = &events.Metric{
		Name: "coterie_sharding_turn_duration_seconds", Help: "Time of a worker's turns with an entity.",
		Kind: events.Histogram, Labels: []string{"type"},
		Buckets: []float64{.00001, .0001, .001, .01, .1, 1, 10, 60},
	}
	mMove = &events.Metric{
		Name: "coterie_sharding_move_duration_seconds",
		Help: "Time from the begin of a hand-off, or the loss of a home, until the next home has answered.",
		Kind: events.Histogram, Labels: []string{"type"},
		Buckets: []float64{.0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120},
	}
)

// Meters is what a region measures for a Meter, beside what it counts in any case. Nothing of it is
// there without one.
type Meters struct {
	slice, move events.Observer
	handled     [64]striped // by shard: workers with entities of different shards do not write to one line of the cache

	mu       sync.Mutex
	machines map[string][]protocol.Counter // as they were after the latest steps; each list is never changed
}

type striped struct {
	n atomic.Uint64
	_ [7]uint64
}

func newMeters(m events.Meter, typ string) *Meters {
	if m == nil {
		return nil
	}
	return &Meters{
		slice: m.Histogram(mSlice, typ), move: m.Histogram(mMove, typ), machines: map[string][]protocol.Counter{},
	}
}

// handledBy notes what a turn with an entity of a shard has taken from the mailbox.
func (m *Meters) handledBy(shard uint32, n int) {
	if m != nil {
		m.handled[shard%uint32(len(m.handled))].n.Add(uint64(n))
	}
}

func (m *Meters) sliced(d time.Duration) {
	if m != nil {
		m.slice.Observe(d.Seconds())
	}
}

// Noted observes what an event says.
func (m *Meters) Noted(e protocol.Event) {
	if m != nil && e.Kind == protocol.ShardMoved && e.Took > 0 {
		m.move.Observe(e.Took.Seconds())
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
