package prom

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/registered"
)

// Meter is a events.Meter, and a collector to be registered with Prometheus. Its counters and
// gauges are read at each scrape.
type Meter struct {
	labels prometheus.Labels

	mu         sync.Mutex
	reads      registered.Set[func(func(*events.Metric, float64, ...string))]
	descs      map[*events.Metric]*prometheus.Desc
	histograms map[string]*prometheus.HistogramVec // by name
}

var (
	_ events.Meter         = (*Meter)(nil)
	_ prometheus.Collector = (*Meter)(nil)
)

// New makes a Meter whose metrics all have these labels.
func New(labels map[string]string) *Meter {
	return &Meter{
		labels: labels,
		descs:  map[*events.Metric]*prometheus.Desc{}, histograms: map[string]*prometheus.HistogramVec{},
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
	return v.WithLabelValues(labels...)
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
