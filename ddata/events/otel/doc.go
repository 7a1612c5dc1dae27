// Package otel hands the traces and the metrics of a node to OpenTelemetry. It is a module of its own,
// because OpenTelemetry's libraries are. The providers, with their exporters and samplers, are the
// caller's, which shuts them down after the node:
//
//	traces := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter))
//	metrics := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
//	node, err := ddata.Start(ctx, ddata.Config{
//		Tracer: otel.NewTracer(otel.TracerConfig{Provider: traces}),
//		Meter:  otel.NewMeter(metrics),
//		…
//	})
//
// # Nouns
//
//   - A Tracer is a tracing.Tracer. Spans of a handler, and of Update and Get, are those of the provider, so
//     trace.SpanFromContext of a sharding.Context is the span of its handler.
//   - A Meter is an events.Meter. Its metrics have the names of the tables in the packages' comments.
//   - Exemplar is what package events/prom needs, to keep ids of traces with what it observes.
//
// # Guarantees
//
//   - A header is the trace context and the baggage of the W3C, in binary, or the fields of a propagator that
//     the caller brings. It has nothing else. What a stranger sends is read within tracing.HeaderMax.
//   - Histograms get the context of what was measured, so that the provider keeps exemplars of what is
//     sampled.
//
// # Not guaranteed
//
//   - A metric that is reported for the first time while the values are collected appears with the next
//     collection.
//   - Samplers see the name and the kind of a span, and no attributes.
package otel
