package console

import (
	"context"
	"strings"

	"github.com/coterie-go/coterie/ddata/console/api"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/recent"
)

// Bounds of what an answer has of metrics. A node has some ten of each for every role and entity type.
const (
	timingsMax = 500
	gaugesMax  = 500
)

// metrics are what all nodes have measured lately.
func (c *handler) metrics(ctx context.Context) (*api.Metrics, error) {
	parts := gather[api.NodeMetrics](ctx, c, c.station.node.Members(), query{Ask: askMetrics})
	x := &api.Metrics{Unanswered: unanswered(parts)}
	for _, p := range parts {
		if p.err == nil {
			x.Nodes = append(x.Nodes, p.got)
		}
	}
	return x, nil
}

// metrics are what the Meter of this node says of the last minute, if it keeps that.
func (s *station) metrics() api.NodeMetrics {
	x := api.NodeMetrics{UID: uidText(s.node.UID())}
	kept, ok := s.host.Meter.(*recent.Meter)
	if !ok {
		return x
	}
	over, took := kept.Recent()
	x.Kept, x.OverMillis = true, over.Milliseconds()
	for _, d := range took[:min(len(took), timingsMax)] {
		x.Timings = append(x.Timings, api.Timing{
			Series: seriesOf(d.Metric, d.Labels), Count: d.Count, P50: d.P50, P99: d.P99, Beyond: d.Beyond,
		})
	}
	values := kept.Values(queues)
	for _, v := range values[:min(len(values), gaugesMax)] {
		x.Gauges = append(x.Gauges, api.Gauge{Series: seriesOf(v.Metric, v.Labels), Value: v.Value})
	}
	return x
}

// queues reports whether a metric is a gauge of what no field of api.Node has: what waits for journals, how
// far projections are, what deliveries hold.
func queues(x *events.Metric) bool {
	if x.Kind != events.Gauge {
		return false
	}
	for _, of := range []string{"persistence_", "projection_", "delivery_"} {
		if strings.HasPrefix(x.Name, "coterie_"+of) {
			return true
		}
	}
	return false
}

func seriesOf(m *events.Metric, values []string) api.Series {
	s := api.Series{Name: m.Name, Labels: map[string]string{}}
	for i, name := range m.Labels {
		s.Labels[name] = values[i]
	}
	return s
}
