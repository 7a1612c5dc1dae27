package prom_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events/prom"
)

// A node whose metrics Prometheus scrapes: promhttp.HandlerFor(registry, …) serves them.
func ExampleNew() {
	registry := prometheus.NewRegistry()
	var meter *prom.Meter = prom.New(prom.Config{Labels: map[string]string{"service": "shop"}})
	registry.MustRegister(meter)

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Preset: ddata.Local, Meter: meter,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()
	families, err := registry.Gather()
	for _, f := range families {
		if f.GetName() == "coterie_ready" {
			fmt.Println(f.GetName(), f.GetMetric()[0].GetGauge().GetValue(), err)
		}
	}
	// Output: coterie_ready 1 <nil>
}
