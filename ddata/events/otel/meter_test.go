package otel_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/events/otel"
	"github.com/coterie-go/coterie/ddata/tracing"
)

// collect returns the values by name and labels; of a histogram how many were observed.
func collect(t *testing.T, r sdkmetric.Reader) (values map[string]float64, all metricdata.ResourceMetrics) {
	t.Helper()
	if err := r.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}
	values = map[string]float64{}
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			set := func(labels attribute.Set, v float64) {
				name := fmt.Sprintf("%s{%s}", m.Name, labels.Encoded(attribute.DefaultEncoder()))
				values[strings.TrimSuffix(name, "{}")] = v
			}
			switch d := m.Data.(type) {
			case metricdata.Sum[float64]:
				if !d.IsMonotonic || d.Temporality != metricdata.CumulativeTemporality {
					t.Errorf("%s is no counter: %+v", m.Name, d)
				}
				for _, p := range d.DataPoints {
					set(p.Attributes, p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range d.DataPoints {
					set(p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range d.DataPoints {
					set(p.Attributes, float64(p.Count))
				}
			default:
				t.Errorf("%s is a %T", m.Name, d)
			}
		}
	}
	return values, all
}

// What a node reports is collected under the same names as elsewhere, as often as it is asked for; a node
// that has ended is read no more.
func TestMeterOfANode(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	second := eventstest.NewMeter("")
	nodes := ddatatest.StartWith(t, 1, func(_ int, c *ddata.Config) {
		c.Meter = both{otel.NewMeter(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))), second}
	})
	r, err := nodes[0].Replicator(ddata.DefaultRole)
	if err != nil {
		t.Fatal(err)
	}
	for range 7 {
		if err := ddata.Update(t.Context(), r, ddata.NewKey[crdt.GCounter]("hits"), ddata.WriteMajority,
			func(c *crdt.GCounterTx) error { return c.Increment(1) }); err != nil {
			t.Fatal(err)
		}
	}
	got, _ := collect(t, reader)
	for name, want := range map[string]float64{
		"coterie_members{status=up}": 1, "coterie_members{status=joining}": 0, "coterie_lease_held": 1,
		"coterie_events_total{event=ViewInstalled}":                                         1,
		"coterie_request_duration_seconds{data=user,level=Majority,op=update,role=default}": 7,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v (%t), want %v", name, v, ok, want)
		}
	}
	if reported := second.Values(); len(got) != len(reported) {
		t.Errorf("%d series are collected, %d were reported", len(got), len(reported))
	}
	if err := nodes[0].Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := collect(t, reader); len(got) != 1 {
		t.Errorf("of a node that has ended there are %v", got) // the histogram is the provider's
	}
}

// both reports to two.
type both struct{ a, b events.Meter }

// Read implements events.Meter.
func (m both) Read(read func(func(*events.Metric, float64, ...string))) (cancel func()) {
	a, b := m.a.Read(read), m.b.Read(read)
	return func() { a(); b() }
}

// Histogram implements events.Meter.
func (m both) Histogram(x *events.Metric, labels ...string) events.Observer {
	return observers{m.a.Histogram(x, labels...), m.b.Histogram(x, labels...)}
}

type observers struct{ a, b events.Observer }

// Observe implements events.Observer.
func (o observers) Observe(ctx context.Context, v float64) {
	o.a.Observe(ctx, v)
	o.b.Observe(ctx, v)
}

// A metric that comes later is there at the collection after the one that met it, and a histogram has an
// exemplar of what is sampled.
func TestLateMetricsAndExemplars(t *testing.T) {
	reader := sdkmetric.NewManualReader()
	m := otel.NewMeter(sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)))
	first := &events.Metric{Name: "first_total"}
	late := &events.Metric{Name: "late", Kind: events.Gauge, Labels: []string{"of"}}
	comes := false
	cancel := m.Read(func(report func(*events.Metric, float64, ...string)) {
		report(first, 1)
		if comes {
			report(late, 5, "x")
		}
	})
	defer cancel()
	if got, _ := collect(t, reader); len(got) != 1 || got["first_total"] != 1 {
		t.Errorf("%v", got)
	}
	comes = true
	ctx, done := context.WithTimeout(t.Context(), ddatatest.Patience)
	defer done()
	poll(t, ctx, "it comes", func() bool {
		got, _ := collect(t, reader)
		return got["late{of=x}"] == 5 && got["first_total"] == 1
	})
	tracer := otel.NewTracer(otel.TracerConfig{Provider: sdktrace.NewTracerProvider()})
	sampled, _ := tracer.Start(t.Context(), tracing.Client, "ask")
	o := m.Histogram(&events.Metric{Name: "took_seconds", Kind: events.Histogram, Buckets: []float64{1, 2}})
	o.Observe(sampled, 1.5)
	o.Observe(context.Background(), .5)
	_, all := collect(t, reader)
	id, _ := otel.Exemplar(sampled)
	for _, x := range all.ScopeMetrics[0].Metrics {
		h, is := x.Data.(metricdata.Histogram[float64])
		if !is {
			continue
		}
		p := h.DataPoints[0]
		if p.Count != 2 || len(p.Bounds) != 2 || len(p.Exemplars) != 1 || p.Exemplars[0].Value != 1.5 ||
			fmt.Sprintf("%x", p.Exemplars[0].TraceID) != id {
			t.Errorf("%+v", p)
		}
	}
}
