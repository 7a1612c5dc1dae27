// Command cost measures what OpenTelemetry costs a message of an entity: told and asked, on one node and
// between two. Each line has the medians of 20 rounds, beside those without telemetry from the same run:
// more_cpu_ns is the difference, and …_spread how far the middle half of the rounds lies apart.
//
//	go run ./cost           runs each case for 2 s
//	go run ./cost -d 10s    runs each case longer
//
// Spans that are sampled are ended and thrown away: what an exporter does with them comes on top.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/coterie-go/coterie/bench/telemetry"
	"github.com/coterie-go/coterie/ddata/events/otel"
	"github.com/coterie-go/coterie/ddata/tracing"
)

// nowhere takes spans that have ended.
type nowhere struct{ sdktrace.SpanProcessor }

// OnStart implements sdktrace.SpanProcessor.
func (nowhere) OnStart(context.Context, sdktrace.ReadWriteSpan) {}

// OnEnd implements sdktrace.SpanProcessor.
func (nowhere) OnEnd(sdktrace.ReadOnlySpan) {}

func sampled(s sdktrace.Sampler) tracing.Tracer {
	return otel.NewTracer(otel.TracerConfig{Provider: sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.ParentBased(s)), sdktrace.WithSpanProcessor(nowhere{}),
	)})
}

func main() {
	d := flag.Duration("d", 2*time.Second, "how long each case runs")
	flag.Parse()
	meter := otel.NewMeter(sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader())))
	if err := telemetry.Run(context.Background(), *d, []telemetry.Case{
		{Name: "off"},
		{Name: "meter", Meter: meter},
		{Name: "sampling-0", Tracer: sampled(sdktrace.NeverSample())},
		{Name: "sampling-0.01", Tracer: sampled(sdktrace.TraceIDRatioBased(.01))},
		{Name: "sampling-1", Tracer: sampled(sdktrace.AlwaysSample())},
	}); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}
