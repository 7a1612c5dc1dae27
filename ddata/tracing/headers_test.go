package tracing_test

import (
	"bytes"
	"context"
	"testing"

	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/ddata/tracing/tracingtest"
)

// A header comes back as the trace and the baggage that it was made of. One that is too large, and
// bytes that are none, are counted.
func TestHeaders(t *testing.T) {
	r := tracingtest.New()
	h := &tracing.Headers{Tracer: r}
	if got := h.Of(context.Background()); got != nil {
		t.Errorf("%q without a trace", got)
	}
	ctx, span := r.Start(tracingtest.WithBaggage(context.Background(), "gold"), tracing.Internal, "outer")
	_, inner := r.Start(h.Open(h.Of(ctx)), tracing.Consumer, "inner")
	inner.End(nil)
	span.End(nil)
	spans := r.Spans()
	if len(spans) != 2 || spans[0].Parent != spans[1].ID || spans[0].Trace != spans[1].Trace {
		t.Fatalf("%+v", spans)
	}
	if got := tracingtest.Baggage(h.Open(h.Of(ctx))); got != "gold" {
		t.Errorf("baggage %q", got)
	}
	if n := h.Dropped(); n != 0 {
		t.Fatalf("%d are dropped", n)
	}
	large := tracingtest.WithBaggage(ctx, string(bytes.Repeat([]byte("x"), tracing.HeaderMax)))
	if got := h.Of(large); got != nil || h.Dropped() != 1 {
		t.Errorf("a header of %d bytes, %d dropped", len(got), h.Dropped())
	}
	if got := h.Open([]byte{0xff}); got != context.Background() || h.Dropped() != 2 {
		t.Errorf("%v, %d dropped", got, h.Dropped())
	}
}
