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
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/coterie-go/coterie/ddata/events/otel"
	"github.com/coterie-go/coterie/ddata/tracing"
)

func withBaggage(t testing.TB, ctx context.Context, name, value string) context.Context {
	t.Helper()
	m, err := baggage.NewMember(name, value)
	if err != nil {
		t.Fatal(err)
	}
	b, err := baggage.New(m)
	if err != nil {
		t.Fatal(err)
	}
	return baggage.ContextWithBaggage(ctx, b)
}

// A header brings the trace, whether it is sampled, and the baggage. Bytes that are none are refused.
func TestHeader(t *testing.T) {
	for name, sampler := range map[string]sdktrace.Sampler{
		"sampled": sdktrace.AlwaysSample(), "not sampled": sdktrace.NeverSample(),
	} {
		tracer := otel.NewTracer(otel.TracerConfig{Provider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler))})
		ctx, span := tracer.Start(withBaggage(t, context.Background(), "plan", "gold"), tracing.Client, "ask")
		header := tracer.Inject(ctx, nil)
		if len(header) > 120 {
			t.Errorf("%s: the header has %d bytes", name, len(header))
		}
		got, err := tracer.Extract(context.Background(), header)
		if err != nil {
			t.Fatal(err)
		}
		sent, came := trace.SpanContextFromContext(ctx), trace.SpanContextFromContext(got)
		if !came.IsRemote() || came.TraceID() != sent.TraceID() || came.SpanID() != sent.SpanID() ||
			came.IsSampled() != sent.IsSampled() || came.IsSampled() != span.Records() {
			t.Errorf("%s: %v has come as %v", name, sent, came)
		}
		if plan := baggage.FromContext(got).Member("plan").Value(); plan != "gold" {
			t.Errorf("%s: the baggage is %q", name, plan)
		}
		if id, _ := otel.Exemplar(ctx); (id == sent.TraceID().String()) != came.IsSampled() {
			t.Errorf("%s: the exemplar is of %q", name, id)
		}
		for cut := range header {
			if _, err := tracer.Extract(context.Background(), header[:cut]); err == nil {
				t.Errorf("%x is a header", header[:cut])
			}
		}
	}
	tracer := otel.NewTracer(otel.TracerConfig{Provider: sdktrace.NewTracerProvider()})
	if header := tracer.Inject(context.Background(), nil); len(header) != 0 {
		t.Errorf("a header %x without a trace", header)
	}
	for _, b := range []string{"\x80", "\x82\x61a\x61b", "\x81\x61a", "\x82\x6btraceparent\x63abc"} {
		if _, err := tracer.Extract(context.Background(), []byte(b)); err == nil {
			t.Errorf("%x is a header", b)
		}
	}
	h := tracing.Headers{Tracer: tracer}
	large := withBaggage(t, context.Background(), "a", strings.Repeat("x", 8000)) // about what OpenTelemetry allows
	if got := h.Of(large); len(got) < 8000 || h.Dropped() != 0 {
		t.Errorf("a baggage of 8,000 bytes has a header of %d", len(got))
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

// Whatever a stranger sends, a header is read or refused, and what is read is within bounds.
func FuzzExtract(f *testing.F) {
	tracer := otel.NewTracer(otel.TracerConfig{Provider: sdktrace.NewTracerProvider()})
	ctx, _ := tracer.Start(withBaggage(f, context.Background(), "plan", "gold"), tracing.Client, "ask")
	f.Add(tracer.Inject(ctx, nil))
	f.Add([]byte{0x82, 0x61, 'a', 0x61, 'b'})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := tracer.Extract(context.Background(), b)
		if err == nil && len(tracer.Inject(got, nil)) == 0 && baggage.FromContext(got).Len() == 0 {
			t.Errorf("%x gives nothing, and no error", b)
		}
	})
}
