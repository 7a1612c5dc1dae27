package events

import "context"

// Kind says what a metric is.
type Kind uint8

// The kinds of metrics.
const (
	Counter   Kind = iota // only grows, from zero at the node's start
	Gauge                 // goes up and down
	Histogram             // distribution of what was observed
)

// Metric is a metric with its labels; its name and unit follow the conventions of Prometheus.
type Metric struct {
	Name, Help string
	Kind       Kind
	Labels     []string  // names; values come with each report
	Buckets    []float64 // upper bounds, of a Histogram
}

// Meter is the port to a system of metrics. Its methods, and what they return, may be used from any
// goroutine.
//
// Counters and gauges are kept by the node in any case, and read when a Meter asks: they cost
// nothing on hot paths. Package prom is a Meter.
type Meter interface {
	// Read has read called whenever values are wanted, perhaps before it returns: it reports each
	// counter and gauge, with the values of its labels in order. cancel ends it.
	Read(read func(report func(m *Metric, value float64, labels ...string))) (cancel func())
	// Histogram returns where the observations of a metric with these values of its labels go.
	// Asked for again, it is the same one.
	Histogram(m *Metric, labels ...string) Observer
}

// Observer takes observations. It is called on hot paths: it must be quick and should not allocate.
//
// ctx is the context of what was measured, or has the trace of it at least. A Meter that knows traces
// keeps an exemplar by it. Where nothing of the kind is known ctx is context.Background.
type Observer interface {
	Observe(ctx context.Context, value float64)
}
