package tracing

import (
	"context"
	"log/slog"
)

// Kind says what a span is of. The names and the meanings are those of OpenTelemetry.
type Kind uint8

// The kinds of spans.
const (
	Internal Kind = iota // work within a node
	Client               // a question, until its answer
	Server               // the answer to a question
	Producer             // a message on its way
	Consumer             // what a message comes to
)

// Tracer is the port to a system of traces. Its methods, and those of its spans, are called on hot
// paths, by many goroutines at a time, and some of them with a lock held: they must not wait.
type Tracer interface {
	// Start begins a span below the one of ctx, or a trace if ctx has none. It returns a context with
	// the span, which is derived from ctx.
	Start(ctx context.Context, kind Kind, name string) (context.Context, Span)
	// Inject appends a header: what the receiver of a message needs of the trace and the baggage of
	// ctx. It appends nothing if ctx has neither.
	Inject(ctx context.Context, dst []byte) []byte
	// Extract returns a context derived from ctx with what a header has. The header may come from a
	// stranger, and is not kept. The error says that the bytes are no header; then the context is ctx.
	Extract(ctx context.Context, header []byte) (context.Context, error)
}

// Span is a span that has begun. A span that is never ended is not reported.
type Span interface {
	// Records reports whether attributes are kept. While it is false, Add does nothing, and the caller
	// need not make any.
	Records() bool
	// Add adds attributes.
	Add(attrs ...slog.Attr)
	// End ends the span. An err that is not nil is its failure. It is called once.
	End(err error)
}
