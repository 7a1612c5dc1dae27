package otel_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/coterie-go/coterie/ddata/events/otel"
	"github.com/coterie-go/coterie/ddata/tracing"
)

// withBaggage returns ctx with one member more in its baggage.
func withBaggage(ctx context.Context, t testing.TB, name, value string) context.Context {
	t.Helper()
	m, err := baggage.NewMember(name, value)
	if err != nil {
		t.Fatal(err)
	}
	b, err := baggage.FromContext(ctx).SetMember(m)
	if err != nil {
		t.Fatal(err)
	}
	return baggage.ContextWithBaggage(ctx, b)
}

// propagators are those with which headers are tested; nil: the W3C's in binary.
var propagators = map[string]propagation.TextMapPropagator{
	"binary": nil,
	"fields": propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{}),
}

// A header brings the trace with its state, whether it is sampled, and the baggage. Bytes that are none are
// refused.
func TestHeader(t *testing.T) {
	for form, p := range propagators {
		for name, sampler := range map[string]sdktrace.Sampler{
			"sampled": sdktrace.AlwaysSample(), "not sampled": sdktrace.NeverSample(),
		} {
			t.Run(form+" "+name, func(t *testing.T) {
				tracer := otel.NewTracer(otel.TracerConfig{
					Provider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)), Propagator: p,
				})
				headerComesBack(t, tracer)
			})
		}
	}
}

func headerComesBack(t *testing.T, tracer *otel.Tracer) {
	state, err := trace.ParseTraceState("vendor=x")
	if err != nil {
		t.Fatal(err)
	}
	root := trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceState: state,
	}))
	ctx, span := tracer.Start(withBaggage(root, t, "plan", "gold"), tracing.Client, "ask")
	header := tracer.Inject(ctx, nil)
	if len(header) > 130 {
		t.Errorf("the header has %d bytes", len(header))
	}
	got, err := tracer.Extract(context.Background(), header)
	if err != nil {
		t.Fatal(err)
	}
	sent, came := trace.SpanContextFromContext(ctx), trace.SpanContextFromContext(got)
	if !came.Equal(sent.WithRemote(true)) || came.TraceState().Get("vendor") != "x" ||
		came.IsSampled() != span.Records() {
		t.Errorf("%v has come as %v", sent, came)
	}
	if plan := baggage.FromContext(got).Member("plan").Value(); plan != "gold" {
		t.Errorf("the baggage is %q", plan)
	}
	if id, _ := otel.Exemplar(ctx); (id == sent.TraceID().String()) != came.IsSampled() {
		t.Errorf("the exemplar is of %q", id)
	}
	for cut := range header {
		if _, err := tracer.Extract(context.Background(), header[:cut]); err == nil {
			t.Errorf("%x is a header", header[:cut])
		}
	}
	if header := tracer.Inject(context.Background(), nil); len(header) != 0 {
		t.Errorf("a header %x without a trace", header)
	}
	only, err := tracer.Extract(context.Background(), tracer.Inject(withBaggage(t.Context(), t, "a", "b"), nil))
	if err != nil || baggage.FromContext(only).Len() != 1 || trace.SpanContextFromContext(only).IsValid() {
		t.Errorf("a baggage alone: %v", err)
	}
	for _, b := range []string{
		"\x80", "\x82\x61a\x61b", "\x81\x61a", "\x82\x6btraceparent\x63abc",
		"\x85\x50" + strings.Repeat("\x00", 16) + "\x48" + strings.Repeat("\x00", 8) + "\x00\x60\x60",
		"\x85\x41x\x41x\x00\x60\x60", "\x85\x50" + strings.Repeat("x", 16) + "\x48xxxxxxxx\x00\x60\x61=",
		"\x85\x50" + strings.Repeat("x", 16) + "\x48xxxxxxxx\x00\x61=\x60",
	} {
		if _, err := tracer.Extract(context.Background(), []byte(b)); err == nil {
			t.Errorf("%x is a header", b)
		}
	}
	h := tracing.Headers{Tracer: tracer}
	large := withBaggage(withBaggage(ctx, t, "a", strings.Repeat("x", 4000)), t, "b", strings.Repeat("y", 4000))
	if got := h.Of(large); len(got) < 8000 || h.Dropped() != 0 {
		t.Errorf("a baggage of 8,000 bytes, about what OpenTelemetry allows, has a header of %d", len(got))
	}
}

// What a span is told is what is exported of it.
func TestSpan(t *testing.T) {
	out := tracetest.NewInMemoryExporter()
	tracer := otel.NewTracer(otel.TracerConfig{Provider: sdktrace.NewTracerProvider(sdktrace.WithSyncer(out))})
	_, s := tracer.Start(t.Context(), tracing.Consumer, "receive Cart")
	s.Add(slog.String("text", "x"), slog.Int("number", 7), slog.Uint64("count", 8), slog.Bool("yes", true),
		slog.Float64("part", .5))
	s.End(errors.New("no luck"))
	got := out.GetSpans()[0]
	want := attribute.NewSet(attribute.String("text", "x"), attribute.Int("number", 7), attribute.String("count", "8"),
		attribute.Bool("yes", true), attribute.Float64("part", .5))
	if set := attribute.NewSet(got.Attributes...); !set.Equals(&want) || got.SpanKind != trace.SpanKindConsumer ||
		got.Name != "receive Cart" || got.Status.Code != codes.Error || got.Status.Description != "no luck" {
		t.Errorf("%+v", got)
	}
}

// Whatever a stranger sends, a header is read or refused, and what is read gives something.
func FuzzExtract(f *testing.F) {
	var tracers []*otel.Tracer
	for _, p := range propagators {
		tracer := otel.NewTracer(otel.TracerConfig{Provider: sdktrace.NewTracerProvider(), Propagator: p})
		ctx, _ := tracer.Start(withBaggage(context.Background(), f, "plan", "gold"), tracing.Client, "ask")
		f.Add(tracer.Inject(ctx, nil))
		tracers = append(tracers, tracer)
	}
	f.Add([]byte{0x82, 0x61, 'a', 0x61, 'b'})
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, tracer := range tracers {
			got, err := tracer.Extract(context.Background(), b)
			if err == nil && len(tracer.Inject(got, nil)) == 0 {
				t.Errorf("%x gives nothing, and no error", b)
			}
		}
	})
}
