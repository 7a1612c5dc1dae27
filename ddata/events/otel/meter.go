package otel

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/registered"
)

// Meter is an events.Meter over OpenTelemetry. Each node of a process needs one of its own, whose
// provider has a resource that names the node: values of two nodes under one name would be mixed up.
type Meter struct {
	meter metric.Meter

	// mu is held while counters and gauges are read: what was cancelled is read no more. The provider
	// calls back with a lock of its own, so nothing of the provider is called under mu.
	mu          sync.Mutex
	reads       registered.Set[func(func(*events.Metric, float64, ...string))]
	instruments map[string]metric.Float64Observable // by name; replaced as a whole
	histograms  map[string]metric.Float64Histogram  // by name

	adopting     sync.Mutex // taken before mu
	registration metric.Registration
}

var _ events.Meter = (*Meter)(nil)

// NewMeter makes a Meter, for ddata.Config.Meter.
func NewMeter(p metric.MeterProvider) *Meter {
	return &Meter{
		meter: p.Meter(scope), instruments: map[string]metric.Float64Observable{},
		histograms: map[string]metric.Float64Histogram{},
	}
}

// Read implements events.Meter. It calls read once before it returns, to learn which metrics there are.
func (m *Meter) Read(read func(report func(*events.Metric, float64, ...string))) (cancel func()) {
	m.mu.Lock()
	cancel = m.reads.Add(&m.mu, read)
	m.mu.Unlock()
	found := map[string]*events.Metric{}
	read(func(x *events.Metric, _ float64, _ ...string) { found[x.Name] = x })
	m.adopt(found)
	return cancel
}

// adopt makes the instruments of metrics.
func (m *Meter) adopt(found map[string]*events.Metric) {
	m.adopting.Lock()
	defer m.adopting.Unlock()
	m.mu.Lock()
	all := maps.Clone(m.instruments)
	m.mu.Unlock()
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if all[name] == nil {
			all[name] = m.instrument(found[name])
		}
	}
	observed := make([]metric.Observable, 0, len(all))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		observed = append(observed, all[name])
	}
	if m.registration != nil {
		if err := m.registration.Unregister(); err != nil {
			api.Handle(err)
		}
	}
	m.mu.Lock()
	m.instruments = all
	m.mu.Unlock()
	var err error
	if m.registration, err = m.meter.RegisterCallback(m.observe, observed...); err != nil {
		api.Handle(err)
	}
}

// instrument makes the instrument of a counter or a gauge.
func (m *Meter) instrument(x *events.Metric) (is metric.Float64Observable) {
	var err error
	if x.Kind == events.Gauge {
		is, err = m.meter.Float64ObservableGauge(x.Name, metric.WithDescription(x.Help))
	} else {
		is, err = m.meter.Float64ObservableCounter(x.Name, metric.WithDescription(x.Help))
	}
	if err != nil {
		api.Handle(err)
	}
	return is
}

// observe reads all counters and gauges.
func (m *Meter) observe(_ context.Context, o metric.Observer) error {
	var unknown map[string]*events.Metric
	m.mu.Lock()
	for _, read := range m.reads.All() {
		read(func(x *events.Metric, value float64, labels ...string) {
			is := m.instruments[x.Name]
			if is == nil {
				if unknown == nil {
					unknown = map[string]*events.Metric{}
				}
				unknown[x.Name] = x
				return
			}
			o.ObserveFloat64(is, value, metric.WithAttributeSet(attributes(x, labels)))
		})
	}
	m.mu.Unlock()
	if unknown != nil {
		go m.adopt(unknown) // the provider holds a lock here that it needs
	}
	return nil
}

func attributes(x *events.Metric, labels []string) attribute.Set {
	all := make([]attribute.KeyValue, len(labels))
	for i, value := range labels {
		all[i] = attribute.String(x.Labels[i], strings.ToValidUTF8(value, "�"))
	}
	return attribute.NewSet(all...)
}

// Histogram implements events.Meter.
func (m *Meter) Histogram(x *events.Metric, labels ...string) events.Observer {
	m.mu.Lock()
	h, ok := m.histograms[x.Name]
	m.mu.Unlock()
	if !ok {
		var err error
		h, err = m.meter.Float64Histogram(x.Name, metric.WithDescription(x.Help),
			metric.WithExplicitBucketBoundaries(x.Buckets...))
		if err != nil {
			api.Handle(err)
		}
		m.mu.Lock()
		m.histograms[x.Name] = h // a second one of the name is the same to the provider
		m.mu.Unlock()
	}
	return observer{h, []metric.RecordOption{metric.WithAttributeSet(attributes(x, labels))}}
}

// observer is one histogram with the values of its labels.
type observer struct {
	of     metric.Float64Histogram
	labels []metric.RecordOption
}

// Observe implements events.Observer.
func (o observer) Observe(ctx context.Context, value float64) { o.of.Record(ctx, value, o.labels...) }
