package eventstest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/registered"
)

// Meter keeps what is observed, and reads when it is asked. Its methods may be called from any
// goroutine.
type Meter struct {
	prefix string
	hidden []string

	mu       sync.Mutex
	reads    registered.Set[func(func(*events.Metric, float64, ...string))]
	observed map[string]int
	metrics  map[*events.Metric]bool
}

var _ events.Meter = (*Meter)(nil)

// NewMeter makes one that calls a series by its metric's name without prefix, and its labels but
// the hidden ones: "dropped_total reason=mailbox-full".
func NewMeter(prefix string, hidden ...string) *Meter {
	return &Meter{
		prefix: prefix, hidden: hidden, observed: map[string]int{}, metrics: map[*events.Metric]bool{},
	}
}

// Read implements events.Meter.
func (m *Meter) Read(read func(func(*events.Metric, float64, ...string))) (cancel func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads.Add(&m.mu, read)
}

// Readers is how many Reads were not cancelled.
func (m *Meter) Readers() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads.Len()
}

// Histogram implements events.Meter.
func (m *Meter) Histogram(x *events.Metric, labels ...string) events.Observer {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.metrics[x] = true
	return observer{m, m.series(x, labels)}
}

type observer struct {
	m    *Meter
	name string
}

// Observe implements events.Observer.
func (o observer) Observe(context.Context, float64) {
	o.m.mu.Lock()
	defer o.m.mu.Unlock()
	o.m.observed[o.name]++
}

func (m *Meter) series(x *events.Metric, labels []string) string {
	var b strings.Builder
	b.WriteString(strings.TrimPrefix(x.Name, m.prefix))
	for i, name := range x.Labels {
		if !slices.Contains(m.hidden, name) {
			fmt.Fprintf(&b, " %s=%s", name, labels[i])
		}
	}
	return b.String()
}

// Values reads every counter and gauge, and how often each histogram was told something.
func (m *Meter) Values() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	got := map[string]int{}
	for _, read := range m.reads.All() {
		read(func(x *events.Metric, v float64, labels ...string) {
			m.metrics[x] = true
			got[m.series(x, labels)] = int(v)
		})
	}
	for name, n := range m.observed { // order: into a map
		got[name] = n
	}
	return got
}

// Want demands that these series have these values.
func (m *Meter) Want(t testing.TB, values map[string]int) {
	t.Helper()
	got := m.Values()
	for name, want := range values { // order: each is reported by itself
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %d (%t), want %d", name, v, ok, want)
		}
	}
}
