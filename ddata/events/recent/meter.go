package recent

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/registered"
)

// half is the least time that Recent reaches back.
const half = 30 * time.Second

// Meter is an events.Meter. Its methods may be called from any goroutine.
type Meter struct {
	next events.Meter     // nil: there is none
	now  func() time.Time // a test's clock

	reading sync.Mutex // also held while reads are called: what was cancelled is called no more
	reads   registered.Set[func(func(*events.Metric, float64, ...string))]

	mu     sync.Mutex
	series map[string]*series // by the name of the metric and the values of its labels
	turned time.Time          // when the counts of each series were noted last
	since  time.Time          // and the time before
}

var _ events.Meter = (*Meter)(nil)

// New makes a Meter that hands all on to next, unless that is nil.
func New(next events.Meter) *Meter { return newMeter(next, time.Now) }

func newMeter(next events.Meter, now func() time.Time) *Meter {
	return &Meter{next: next, now: now, series: map[string]*series{}, turned: now(), since: now()}
}

// Read implements events.Meter.
func (m *Meter) Read(read func(report func(*events.Metric, float64, ...string))) (cancel func()) {
	m.reading.Lock()
	here := m.reads.Add(&m.reading, read)
	m.reading.Unlock()
	if m.next == nil {
		return here
	}
	there := m.next.Read(read)
	return func() {
		here()
		there()
	}
}

// Histogram implements events.Meter.
func (m *Meter) Histogram(x *events.Metric, labels ...string) events.Observer {
	m.mu.Lock()
	defer m.mu.Unlock()
	id := x.Name + "\x00" + strings.Join(labels, "\x00")
	s, ok := m.series[id]
	if !ok {
		s = &series{metric: x, labels: slices.Clone(labels), counts: make([]atomic.Uint64, len(x.Buckets)+1)}
		s.turn()
		s.turn()
		if m.next != nil {
			s.next = m.next.Histogram(x, labels...)
		}
		m.series[id] = s
	}
	return s
}

// series are the observations of a metric with the values of its labels.
type series struct {
	metric *events.Metric
	labels []string
	next   events.Observer // nil: there is none
	counts []atomic.Uint64 // by bucket; the last is for what is above all bounds

	noted, before []uint64 // counts at the last turn, and at that before; the Meter's lock guards them
}

// Observe implements events.Observer.
func (s *series) Observe(ctx context.Context, value float64) {
	i, _ := slices.BinarySearch(s.metric.Buckets, value)
	s.counts[i].Add(1)
	if s.next != nil {
		s.next.Observe(ctx, value)
	}
}

// turn notes the counts.
func (s *series) turn() {
	s.before, s.noted = s.noted, make([]uint64, len(s.counts))
	for i := range s.counts {
		s.noted[i] = s.counts[i].Load()
	}
}

// Distribution is what was observed lately of a metric with these values of its labels. The quantiles
// are in the unit of the metric.
type Distribution struct {
	Metric   *events.Metric
	Labels   []string
	Count    uint64
	P50, P99 float64
	Beyond   bool // P99 is above the largest bound, with which it stands here
}

// Recent is what was observed over the last time, series by series; those of which nothing was are left out.
func (m *Meter) Recent() (over time.Duration, all []Distribution) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	if now.Sub(m.turned) >= half {
		m.since, m.turned = m.turned, now
		for _, s := range m.series { // order: each by itself
			s.turn()
		}
	}
	for _, s := range m.series { // order: sorted below
		if d := s.lately(); d.Count > 0 {
			all = append(all, d)
		}
	}
	slices.SortFunc(all, func(a, b Distribution) int {
		return cmp.Or(cmp.Compare(a.Metric.Name, b.Metric.Name), slices.Compare(a.Labels, b.Labels))
	})
	return now.Sub(m.since), all
}

// lately sums up what was observed since the turn before the last.
func (s *series) lately() Distribution {
	d := Distribution{Metric: s.metric, Labels: s.labels}
	counts := make([]uint64, len(s.counts))
	for i := range s.counts {
		counts[i] = s.counts[i].Load() - s.before[i]
		d.Count += counts[i]
	}
	if d.Count > 0 {
		d.P50, _ = quantile(s.metric.Buckets, counts, d.Count, 0.5)
		d.P99, d.Beyond = quantile(s.metric.Buckets, counts, d.Count, 0.99)
	}
	return d
}

// quantile is the value below which a share q of n observations lies; beyond: it is above all bounds.
func quantile(bounds []float64, counts []uint64, n uint64, q float64) (value float64, beyond bool) {
	rank, low := q*float64(n), 0.0
	for i, bound := range bounds {
		in := float64(counts[i])
		if rank <= in {
			return low + (bound-low)*rank/max(in, 1), false
		}
		rank, low = rank-in, bound
	}
	return low, true
}

// Value is what a gauge or a counter has at this moment.
type Value struct {
	Metric *events.Metric
	Labels []string
	Value  float64
}

// Values are those that pick asks for, in the order of their names and labels.
func (m *Meter) Values(pick func(*events.Metric) bool) (all []Value) {
	m.reading.Lock()
	defer m.reading.Unlock()
	for _, read := range m.reads.All() {
		read(func(x *events.Metric, value float64, labels ...string) {
			if pick(x) {
				all = append(all, Value{x, slices.Clone(labels), value})
			}
		})
	}
	slices.SortFunc(all, func(a, b Value) int {
		return cmp.Or(cmp.Compare(a.Metric.Name, b.Metric.Name), slices.Compare(a.Labels, b.Labels))
	})
	return all
}
