package entities

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
)

// mSlice is a histogram of an entity type on one node.
var mSlice = &events.Metric{
	Name: "coterie_sharding_slice_duration_seconds", Help: "Time of a worker's slices with an entity.",
	Kind: events.Histogram, Labels: []string{"type"},
	Buckets: []float64{.00001, .0001, .001, .01, .1, 1, 10, 60},
}

// Meters is what a runtime measures for a Meter. Nothing of it is there without one.
type Meters struct {
	slice   events.Observer
	handled [64]striped // by shard: workers with entities of different shards do not write to one line of the cache
}

type striped struct {
	n atomic.Uint64
	_ [7]uint64
}

func newMeters(m events.Meter, typ string) *Meters {
	if m == nil {
		return nil
	}
	return &Meters{slice: m.Histogram(mSlice, typ)}
}

// handledBy notes what a turn with an entity of a shard has taken from the mailbox.
func (m *Meters) handledBy(shard uint32, n int) {
	if m != nil {
		m.handled[shard%uint32(len(m.handled))].n.Add(uint64(n))
	}
}

func (m *Meters) sliced(d time.Duration) {
	if m != nil {
		m.slice.Observe(context.Background(), d.Seconds())
	}
}

// Handled is how many messages were taken from mailboxes.
func (m *Meters) Handled() (n uint64) {
	for i := range m.handled {
		n += m.handled[i].n.Load()
	}
	return n
}
