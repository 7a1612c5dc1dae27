package otel

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/tracing"
)

// Without a propagator of the caller's a header has the trace context and the baggage of the W3C in binary,
// which takes less than half the bytes, and about half the time: [trace id, span id, flags, "trace state", "baggage"].
// Ids of zeros stand for no trace.
const w3cFields = 5

// appendW3C appends the header of a context; nothing if that has neither a trace nor a baggage.
func appendW3C(ctx context.Context, dst []byte) []byte {
	at, b := trace.SpanContextFromContext(ctx), baggage.FromContext(ctx)
	if !at.IsValid() && b.Len() == 0 {
		return dst
	}
	trace, span := at.TraceID(), at.SpanID()
	dst = cbor.AppendBytes(cbor.AppendBytes(cbor.AppendArray(dst, w3cFields), trace[:]), span[:])
	dst = cbor.AppendText(cbor.AppendUint(dst, uint8(at.TraceFlags())), at.TraceState().String())
	return cbor.AppendText(dst, b.String())
}

// readW3C reads a header behind the head of its array.
func readW3C(ctx context.Context, r *cbor.Reader) (context.Context, error) {
	var at trace.SpanContextConfig
	traceID, spanID := r.Bytes(len(at.TraceID)), r.Bytes(len(at.SpanID))
	at.TraceFlags, at.Remote = trace.TraceFlags(r.UintMax(0xff)), true
	state, carried := r.Text(tracing.HeaderMax), r.Text(tracing.HeaderMax)
	if copy(at.TraceID[:], traceID) < len(at.TraceID) || copy(at.SpanID[:], spanID) < len(at.SpanID) {
		r.Fail("ids of %d and %d bytes", len(traceID), len(spanID))
	}
	if err := r.End(); err != nil {
		return ctx, fmt.Errorf("%w: %w", errHeader, err)
	}
	found := ctx
	if carried != "" {
		b, err := baggage.Parse(carried)
		if err != nil {
			return ctx, fmt.Errorf("%w: %w", errHeader, err)
		}
		found = baggage.ContextWithBaggage(found, b)
	}
	if state != "" {
		var err error
		if at.TraceState, err = trace.ParseTraceState(state); err != nil {
			return ctx, fmt.Errorf("%w: %w", errHeader, err)
		}
	}
	sc := trace.NewSpanContext(at)
	switch {
	case sc.IsValid():
		return trace.ContextWithRemoteSpanContext(found, sc), nil
	case carried == "":
		return ctx, errNothing
	}
	return found, nil
}
