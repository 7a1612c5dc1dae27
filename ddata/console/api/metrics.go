package api

// Metrics are what all nodes have measured lately.
type Metrics struct {
	Nodes      []NodeMetrics `json:"nodes"`
	Unanswered []Unanswered  `json:"unanswered,omitempty"`
}

// NodeMetrics are what the Meter of a node keeps of the last minute.
type NodeMetrics struct {
	UID        string   `json:"uid"`
	Kept       bool     `json:"kept"`       // false: ddata.Config.Meter is none of package events/recent
	OverMillis int64    `json:"overMillis"` // over which Timings were observed
	Timings    []Timing `json:"timings,omitempty"`
	Gauges     []Gauge  `json:"gauges,omitempty"` // of journals, projections and deliveries
}

// Timing is what was observed of one series of a histogram, in the unit that its name ends with.
type Timing struct {
	Series
	Count  uint64  `json:"count"`
	P50    float64 `json:"p50"` // estimated, as P99
	P99    float64 `json:"p99"`
	Beyond bool    `json:"beyond,omitempty"` // P99 is above the largest bound of the buckets, which stands for it
}

// Gauge is what one series has at this moment.
type Gauge struct {
	Series
	Value float64 `json:"value"`
}

// Series is a metric with the values of its labels.
type Series struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels,omitempty"`
}
