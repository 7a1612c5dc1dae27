package eventstest

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/events"
)

// A Meter reads until it is told not to, and a table that lacks a metric, has one too many, or
// another kind or label, differs.
func TestMeter(t *testing.T) {
	m := NewMeter("coterie_x_", "type")
	things := &events.Metric{
		Name: "coterie_x_things", Help: "Things.", Kind: events.Gauge, Labels: []string{"type", "how"},
	}
	took := &events.Metric{
		Name: "coterie_x_took_seconds", Help: "Time.", Kind: events.Histogram, Labels: []string{"type"},
	}
	cancel := m.Read(func(report func(*events.Metric, float64, ...string)) {
		report(things, 3, "t", "well")
		report(&events.Metric{Name: "coterie_y_things"}, 5) // of another package
	})
	o := m.Histogram(took, "t")
	o.Observe(t.Context(), .5)
	o.Observe(t.Context(), .7)
	m.Want(t, map[string]int{"things how=well": 3, "took_seconds": 2})
	for doc, same := range map[string]bool{ // order: each is looked at by itself
		"coterie_x_things{type,how}  gauge: things\ncoterie_x_took_seconds{type}   histogram: " +
			"time\n": true,
		"coterie_x_things{type,how}  gauge: things\n":                                             false,
		"coterie_x_things{type}  gauge: things\ncoterie_x_took_seconds{type}   histogram: time\n": false,
		"coterie_x_things{type,how}  things\ncoterie_x_took_seconds{type}   histogram: time\n":    false,
		"coterie_x_things{type,how}  gauge: things\ncoterie_x_took_seconds{type}   histogram: " +
			"time\ncoterie_x_more{type}   another\n": false,
	} {
		if faults := compare(doc, []*Meter{m}); (len(faults) == 0) != same {
			t.Errorf("%s\n%s", doc, strings.Join(faults, "\n"))
		}
	}
	cancel()
	if _, still := m.Values()["things how=well"]; still || m.Readers() != 0 {
		t.Error("what was cancelled is read")
	}
}
