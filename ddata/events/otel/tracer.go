package otel

import (
	"context"
	"log/slog"

	api "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/tracing"
)

// scope is the name of the instrumentation.
const scope = "github.com/coterie-go/coterie"

// TracerConfig says what a Tracer stands on. The zero value is right for a process that has set the
// provider of package otel.
type TracerConfig struct {
	// Provider makes the spans. Default: the process's, otel.GetTracerProvider.
	Provider trace.TracerProvider
	// Propagator makes headers of contexts, and reads them. All nodes have the same. Default: the trace
	// context and the baggage of the W3C.
	Propagator propagation.TextMapPropagator
}

// Tracer is a tracing.Tracer over OpenTelemetry. Its methods may be called from any goroutine.
type Tracer struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator // nil: that of the W3C
}

var _ tracing.Tracer = (*Tracer)(nil)

// NewTracer makes a Tracer, for ddata.Config.Tracer. Nodes of one process may share it.
func NewTracer(cfg TracerConfig) *Tracer {
	if cfg.Provider == nil {
		cfg.Provider = api.GetTracerProvider()
	}
	return &Tracer{cfg.Provider.Tracer(scope), cfg.Propagator}
}

// kinds are the options of spans, made once.
var kinds = [...][]trace.SpanStartOption{
	tracing.Internal: {trace.WithSpanKind(trace.SpanKindInternal)},
	tracing.Client:   {trace.WithSpanKind(trace.SpanKindClient)},
	tracing.Server:   {trace.WithSpanKind(trace.SpanKindServer)},
	tracing.Producer: {trace.WithSpanKind(trace.SpanKindProducer)},
	tracing.Consumer: {trace.WithSpanKind(trace.SpanKindConsumer)},
}

// Start implements tracing.Tracer.
func (t *Tracer) Start(ctx context.Context, kind tracing.Kind, name string) (context.Context, tracing.Span) {
	ctx, s := t.tracer.Start(ctx, name, kinds[kind]...)
	if !s.IsRecording() {
		return ctx, unrecorded{}
	}
	return ctx, span{s}
}

// Inject implements tracing.Tracer.
func (t *Tracer) Inject(ctx context.Context, dst []byte) []byte {
	if t.propagator == nil {
		return appendW3C(ctx, dst)
	}
	f := pool.Get().(*fields)
	defer f.release()
	t.propagator.Inject(ctx, f)
	return f.append(dst)
}

// Extract implements tracing.Tracer.
func (t *Tracer) Extract(ctx context.Context, header []byte) (context.Context, error) {
	r := cbor.NewReader(header)
	n := r.Array(2 * fieldsMax)
	if t.propagator == nil {
		if n != w3cFields {
			return ctx, errHeader
		}
		return readW3C(ctx, r)
	}
	f := pool.Get().(*fields)
	defer f.release()
	if err := f.read(r, n); err != nil {
		return ctx, err
	}
	found := t.propagator.Extract(ctx, f)
	if ctx == context.Background() && found == ctx { // contexts of others may not be comparable
		return ctx, errNothing
	}
	return found, nil
}

// unrecorded is a span that is not sampled. Its context has what is handed on of it.
type unrecorded struct{}

// Records implements tracing.Span.
func (unrecorded) Records() bool { return false }

// Add implements tracing.Span.
func (unrecorded) Add(...slog.Attr) {}

// End implements tracing.Span.
func (unrecorded) End(error) {}

// span is one that is recorded.
type span struct{ is trace.Span }

// Records implements tracing.Span.
func (s span) Records() bool { return s.is.IsRecording() }

// Add implements tracing.Span.
func (s span) Add(attrs ...slog.Attr) {
	all := make([]attribute.KeyValue, 0, 8)
	for _, a := range attrs {
		all = append(all, of(a))
	}
	s.is.SetAttributes(all...)
}

// End implements tracing.Span.
func (s span) End(err error) {
	if err != nil {
		s.is.RecordError(err)
		s.is.SetStatus(codes.Error, err.Error())
	}
	s.is.End()
}

// of is an attribute as OpenTelemetry has it.
func of(a slog.Attr) attribute.KeyValue {
	switch v := a.Value.Resolve(); v.Kind() {
	case slog.KindInt64:
		return attribute.Int64(a.Key, v.Int64())
	case slog.KindBool:
		return attribute.Bool(a.Key, v.Bool())
	case slog.KindFloat64:
		return attribute.Float64(a.Key, v.Float64())
	default:
		return attribute.String(a.Key, v.String())
	}
}

// Exemplar returns the ids of the span of a context, if that is sampled, and else nothing: it is for
// prom.Config.Exemplar.
func Exemplar(ctx context.Context) (traceID, spanID string) {
	at := trace.SpanContextFromContext(ctx)
	if !at.IsSampled() {
		return "", ""
	}
	return at.TraceID().String(), at.SpanID().String()
}
