package prom

import (
	"context"
	"sync"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/registered"
)

// Meter is a events.Meter, and a collector to be registered with Prometheus. Its counters and
// gauges are read at each scrape.
type Meter struct {
	labels   prometheus.Labels
	exemplar func(context.Context) (trace, span string)

	mu         sync.Mutex
	reads      registered.Set[func(func(*events.Metric, float64, ...string))]
	descs      map[*events.Metric]*prometheus.Desc
	histograms map[string]*prometheus.HistogramVec // by name
}

var (
	_ events.Meter         = (*Meter)(nil)
	_ prometheus.Collector = (*Meter)(nil)
)

// Config says what a Meter is like.
type Config struct {
	// Labels are those that all metrics have, beside their own. Default: none.
	Labels map[string]string
	// Exemplar returns the ids of the trace and of the span that a context belongs to: what is observed
	// under it becomes an exemplar with the labels trace_id and span_id. Without a trace, or with ids that
	// are longer than OpenMetrics allows, there is none. Exemplar of package ddata/events/otel is one.
	// Prometheus gets exemplars only in the format of OpenMetrics (promhttp.HandlerOpts.EnableOpenMetrics),
	// and keeps them only if it was started with --enable-feature=exemplar-storage. Default: none.
	Exemplar func(context.Context) (trace, span string)
}

// New makes a Meter.
func New(cfg Config) *Meter {
	return &Meter{
		labels: cfg.Labels, exemplar: cfg.Exemplar,
		descs: map[*events.Metric]*prometheus.Desc{}, histograms: map[string]*prometheus.HistogramVec{},
	}
}

// Read implements events.Meter.
func (m *Meter) Read(read func(report func(*events.Metric, float64, ...string))) (cancel func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reads.Add(&m.mu, read)
}

// Histogram implements events.Meter.
func (m *Meter) Histogram(x *events.Metric, labels ...string) events.Observer {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.histograms[x.Name]
	if !ok {
		v = prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: x.Name, Help: x.Help, ConstLabels: m.labels, Buckets: x.Buckets,
		}, x.Labels)
		m.histograms[x.Name] = v
	}
	return observer{v.WithLabelValues(labels...), m.exemplar}
}

// observer is one histogram with the values of its labels.
type observer struct {
	of       prometheus.Observer
	exemplar func(context.Context) (trace, span string) // nil: there are none
}

// Observe implements events.Observer.
func (o observer) Observe(ctx context.Context, value float64) {
	if o.exemplar != nil {
		if trace, span := o.exemplar(ctx); trace != "" {
			if labels := (prometheus.Labels{"trace_id": trace, "span_id": span}); fits(labels) {
				o.of.(prometheus.ExemplarObserver).ObserveWithExemplar(value, labels)
				return
			}
		}
	}
	o.of.Observe(value)
}

// fits reports whether the client takes the labels of an exemplar. It panics at others.
func fits(labels prometheus.Labels) bool {
	letters := 0
	for name, value := range labels {
		if !utf8.ValidString(value) {
			return false
		}
		letters += utf8.RuneCountInString(name) + utf8.RuneCountInString(value)
	}
	return letters <= prometheus.ExemplarMaxRunes
}

// Describe implements prometheus.Collector: what there is shows at each scrape.
func (m *Meter) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (m *Meter) Collect(ch chan<- prometheus.Metric) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, read := range m.reads.All() {
		read(func(x *events.Metric, value float64, labels ...string) {
			kind := prometheus.CounterValue
			if x.Kind == events.Gauge {
				kind = prometheus.GaugeValue
			}
			ch <- prometheus.MustNewConstMetric(m.desc(x), kind, value, labels...)
		})
	}
	for _, v := range m.histograms {
		v.Collect(ch)
	}
}

func (m *Meter) desc(x *events.Metric) *prometheus.Desc {
	d, ok := m.descs[x]
	if !ok {
		d = prometheus.NewDesc(x.Name, x.Help, x.Labels, m.labels)
		m.descs[x] = d
	}
	return d
}
