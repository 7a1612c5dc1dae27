package figures

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Each figure is told once, with the labels of its dataset and space; of the lags the largest.
func TestReport(t *testing.T) {
	f := effect.Figures{CaughtUp: true, Pending: 3}
	f.Spaces[keyspace.Durable] = effect.SpaceFigures{
		Keys: 4, Items: 5, Bytes: 6, Origins: 7, LogEvents: 8, Waiting: 9,
		Peers: []effect.Lag{{Behind: 2}, {Behind: 10}, {Behind: 1}},
	}
	got := map[string]float64{}
	Report(func(m *events.Metric, v float64, labels ...string) {
		if len(labels) != len(m.Labels) || m.Kind != events.Gauge {
			t.Errorf("%+v with %q", m, labels)
		}
		name := fmt.Sprint(strings.TrimPrefix(m.Name, "coterie_replica_"), labels)
		if _, twice := got[name]; twice {
			t.Errorf("%s is told twice", name)
		}
		got[name] = v
	}, keyspace.Dataset{Role: "r", Reserved: true}, f)
	for name, want := range map[string]float64{ // order: each by itself
		"caught_up[r reserved]": 1, "pending[r reserved]": 3, "keys[r reserved durable]": 4,
		"items[r reserved durable]": 5, "bytes[r reserved durable]": 6, "origins[r reserved durable]": 7,
		"log_events[r reserved durable]": 8, "waiting_bytes[r reserved durable]": 9,
		"lag_events[r reserved durable]": 10, "keys[r reserved volatile]": 0,
	} {
		if v, ok := got[name]; !ok || v != want {
			t.Errorf("%s is %v, want %v", name, v, want)
		}
	}
	if len(got) != 2+2*7 {
		t.Errorf("%d series: %v", len(got), got)
	}
}
