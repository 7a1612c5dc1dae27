package recent_test

import (
	"context"
	"fmt"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/recent"
)

// A Meter for ddata.Config.Meter with which the console of a node shows latencies, too. It may stand before
// another one, such as that of package prom.
func ExampleMeter() {
	var next events.Meter // none here
	meter := recent.New(next)

	took := &events.Metric{
		Name: "shop_checkout_seconds", Kind: events.Histogram, Labels: []string{"how"}, Buckets: []float64{.1, 1, 10},
	}
	paid := meter.Histogram(took, "card")
	for range 100 {
		paid.Observe(context.Background(), .05)
	}
	carts := events.NewGauge("shop_carts", "Carts that are open.")
	meter.Read(func(report func(*events.Metric, float64, ...string)) { report(carts, 7) })

	_, observed := meter.Recent()
	for _, d := range observed {
		fmt.Println(d.Metric.Name, d.Labels, d.Count, d.P99 <= .1)
	}
	for _, v := range meter.Values(func(m *events.Metric) bool { return m == carts }) {
		fmt.Println(v.Metric.Name, v.Value)
	}
	// Output:
	// shop_checkout_seconds [card] 100 true
	// shop_carts 7
}
