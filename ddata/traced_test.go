package ddata_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/tracing/tracingtest"
)

// baggageMeter keeps the baggage of the contexts of what is observed.
type baggageMeter struct {
	mu  sync.Mutex
	saw []string
}

// Read implements events.Meter.
func (m *baggageMeter) Read(func(func(*events.Metric, float64, ...string))) func() { return func() {} }

// Histogram implements events.Meter.
func (m *baggageMeter) Histogram(*events.Metric, ...string) events.Observer { return m }

// Observe implements events.Observer.
func (m *baggageMeter) Observe(ctx context.Context, _ float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.saw = append(m.saw, tracingtest.Baggage(ctx))
}

// Reads and writes above local ones are spans in the traces of their callers, with their consistency and
// their errors; what is observed of them has their trace.
func TestRequestsAreTraced(t *testing.T) {
	r, meter := tracingtest.New(), &baggageMeter{}
	c := config(freeAddrs(t, 1)[0], nil, 1)
	c.Tracer, c.Meter = r, meter
	n, err := ddata.Start(testContext(t), c)
	if err != nil {
		t.Fatal(err)
	}
	defer n.Close()
	ctx, outer := r.Start(tracingtest.WithBaggage(testContext(t), "gold"), tracing.Internal, "outer")
	increment := func(c *crdt.GCounterTx) error { return c.Increment(1) }
	if err := ddata.Update(ctx, replica(t, n), hits, ddata.WriteMajority, increment); err != nil {
		t.Fatal(err)
	}
	for _, level := range []ddata.ReadLevel{ddata.ReadMajority, ddata.ReadLocal} {
		if _, err := ddata.Get(ctx, replica(t, n), hits, level); err != nil {
			t.Fatal(err)
		}
	}
	if err := ddata.Delete(ctx, replica(t, n), hits, ddata.WriteTo(9)); err == nil {
		t.Fatal("nine replicas have deleted it")
	}
	outer.End(nil)
	all := r.Spans()
	if tree := tracingtest.Tree(all[len(all)-4:]); tree != "outer\n  update backend\n  get backend\n  delete backend ("+
		all[len(all)-2].Err.Error()+")\n" {
		t.Errorf("the trace is\n%s", tree)
	}
	update := all[len(all)-4]
	if update.Attrs["coterie.consistency"] != "Majority" || update.Attrs["coterie.key"] != hits.Name() ||
		update.Attrs["db.collection.name"] != "backend" || update.Kind != tracing.Client {
		t.Errorf("%+v", update)
	}
	if err := all[len(all)-2].Err; errors.Unwrap(err) == nil {
		t.Errorf("the error is %v", err)
	}
	meter.mu.Lock()
	defer meter.mu.Unlock()
	if n := len(slices.DeleteFunc(slices.Clone(meter.saw), func(b string) bool { return b != "gold" })); n != 3 {
		t.Errorf("%d of 3 requests are observed with their trace: %q", n, meter.saw)
	}
}
