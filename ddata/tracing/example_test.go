package tracing_test

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/coterie-go/coterie/ddata/tracing"
)

// printer is a Tracer that prints the spans that have ended. The header of a trace is its name.
type printer struct{}

type traceKey struct{}

func (printer) Start(ctx context.Context, kind tracing.Kind, name string) (context.Context, tracing.Span) {
	trace, _ := ctx.Value(traceKey{}).(string)
	if trace == "" {
		trace = name
		ctx = context.WithValue(ctx, traceKey{}, trace)
	}
	return ctx, &span{trace: trace, name: name, consumes: kind == tracing.Consumer}
}

func (printer) Inject(ctx context.Context, dst []byte) []byte {
	trace, _ := ctx.Value(traceKey{}).(string)
	return append(dst, trace...)
}

func (printer) Extract(ctx context.Context, header []byte) (context.Context, error) {
	return context.WithValue(ctx, traceKey{}, string(header)), nil
}

type span struct {
	trace, name string
	consumes    bool
	attrs       []slog.Attr
}

func (s *span) Records() bool          { return true }
func (s *span) Add(attrs ...slog.Attr) { s.attrs = append(s.attrs, attrs...) }
func (s *span) End(err error)          { fmt.Println(s.trace, "/", s.name, s.consumes, s.attrs, err) }

// A Tracer begins the spans of a node (ddata.Config.Tracer), and hands their trace on in the headers of
// messages. Package otel has one for OpenTelemetry.
func ExampleTracer() {
	var tracer tracing.Tracer = printer{}
	ctx, asking := tracer.Start(context.Background(), tracing.Client, "ask cart-42")

	headers := tracing.Headers{Tracer: tracer}
	header := headers.Of(ctx) // goes with the message

	_, handling := tracer.Start(headers.Open(header), tracing.Consumer, "handle")
	handling.Add(slog.String("entity", "cart-42"))
	handling.End(nil)
	asking.End(nil)
	fmt.Println(headers.Dropped(), "headers were too large")
	// Output:
	// ask cart-42 / handle true [entity=cart-42] <nil>
	// ask cart-42 / ask cart-42 false [] <nil>
	// 0 headers were too large
}
