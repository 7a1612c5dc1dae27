package otel_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events/otel"
	"github.com/coterie-go/coterie/ddata/tracing"
)

// A node whose metrics and traces go to OpenTelemetry. A service gives its providers exporters.
func Example() {
	reader := sdkmetric.NewManualReader()
	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	spans := sdktrace.NewTracerProvider()
	var meter *otel.Meter = otel.NewMeter(metrics)
	var tracer *otel.Tracer = otel.NewTracer(otel.TracerConfig{Provider: spans})

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Preset: ddata.Local, Meter: meter, Tracer: tracer,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	var all metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &all); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(all.ScopeMetrics[0].Metrics) > 50)

	inTrace, span := tracer.Start(ctx, tracing.Internal, "checkout")
	trace, _ := otel.Exemplar(inTrace) // what package prom can add to a histogram
	span.End(nil)
	fmt.Println(len(trace))
	// Output:
	// true
	// 32
}
