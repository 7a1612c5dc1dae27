package tracingtest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/ddata/tracing"
)

// Recorded is a span that was ended.
type Recorded struct {
	Kind              tracing.Kind
	Name              string
	Trace, ID, Parent uint64 // Parent is 0 in the first span of a trace
	Attrs             map[string]string
	Baggage           string // of the context that it was begun with
	Err               error
}

// Recorder keeps spans. Recorders of several nodes hand traces on to each other. Its methods may be
// called from any goroutine.
type Recorder struct {
	mu    sync.Mutex
	spans []Recorded
	ended chan struct{} // closed, and made anew, when a span ends
}

var _ tracing.Tracer = (*Recorder)(nil)

// last is the last number that was given to a span or a trace.
var last atomic.Uint64

// New makes a Recorder.
func New() *Recorder { return &Recorder{ended: make(chan struct{})} }

type (
	traceKey   struct{}
	baggageKey struct{}
)

// place is where in a trace a context is.
type place struct{ trace, span uint64 }

// WithBaggage returns ctx with a baggage.
func WithBaggage(ctx context.Context, text string) context.Context {
	return context.WithValue(ctx, baggageKey{}, text)
}

// Baggage is that of a context.
func Baggage(ctx context.Context) string {
	text, _ := ctx.Value(baggageKey{}).(string)
	return text
}

// Start implements tracing.Tracer.
func (r *Recorder) Start(ctx context.Context, kind tracing.Kind, name string) (context.Context, tracing.Span) {
	at, inside := ctx.Value(traceKey{}).(place)
	s := &span{r: r, is: Recorded{
		Kind: kind, Name: name, Trace: at.trace, Parent: at.span, ID: last.Add(1), Attrs: map[string]string{},
		Baggage: Baggage(ctx),
	}}
	if !inside {
		s.is.Trace = last.Add(1)
	}
	return context.WithValue(ctx, traceKey{}, place{s.is.Trace, s.is.ID}), s
}

// Inject implements tracing.Tracer.
func (r *Recorder) Inject(ctx context.Context, dst []byte) []byte {
	at, inside := ctx.Value(traceKey{}).(place)
	if !inside {
		return dst
	}
	return cbor.AppendText(cbor.AppendUints(cbor.AppendArray(dst, 3), at.trace, at.span), Baggage(ctx))
}

// Extract implements tracing.Tracer.
func (r *Recorder) Extract(ctx context.Context, header []byte) (context.Context, error) {
	rd := cbor.NewReader(header)
	rd.Tuple(3)
	at, text := place{rd.Uint(), rd.Uint()}, rd.Text(tracing.HeaderMax)
	if err := rd.End(); err != nil {
		return ctx, errors.Join(errors.New("tracingtest: no header"), err)
	}
	return WithBaggage(context.WithValue(ctx, traceKey{}, at), text), nil
}

// Spans are those that were ended so far, in the order of their ends.
func (r *Recorder) Spans() []Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.spans)
}

// Clear forgets them.
func (r *Recorder) Clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.spans = nil
}

// Await waits until a span of a name has ended, and returns the first one.
func (r *Recorder) Await(ctx context.Context, name string) (Recorded, error) {
	for {
		r.mu.Lock()
		i := slices.IndexFunc(r.spans, func(s Recorded) bool { return s.Name == name })
		ended, all := r.ended, slices.Clone(r.spans)
		r.mu.Unlock()
		if i >= 0 {
			return all[i], nil
		}
		select {
		case <-ended:
		case <-ctx.Done():
			return Recorded{}, fmt.Errorf("no span %q of\n%s: %w", name, Tree(all), ctx.Err())
		}
	}
}

// Tree prints spans: each below its parent, in the order of their ends.
func Tree(spans []Recorded) string {
	var b strings.Builder
	var below func(parent uint64, depth int)
	known := func(id uint64) bool {
		return slices.ContainsFunc(spans, func(s Recorded) bool { return s.ID == id })
	}
	line := func(s Recorded, depth int) {
		fmt.Fprintf(&b, "%s%s", strings.Repeat("  ", depth), s.Name)
		if s.Err != nil {
			fmt.Fprintf(&b, " (%v)", s.Err)
		}
		b.WriteByte('\n')
		below(s.ID, depth+1)
	}
	below = func(parent uint64, depth int) {
		for _, s := range spans {
			if s.Parent == parent {
				line(s, depth)
			}
		}
	}
	for _, s := range spans {
		if s.Parent == 0 || !known(s.Parent) {
			line(s, 0)
		}
	}
	return b.String()
}

// span is one that has begun.
type span struct {
	r  *Recorder
	mu sync.Mutex
	is Recorded
}

// Records implements tracing.Span.
func (s *span) Records() bool { return true }

// Add implements tracing.Span.
func (s *span) Add(attrs ...slog.Attr) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range attrs {
		s.is.Attrs[a.Key] = a.Value.String()
	}
}

// End implements tracing.Span.
func (s *span) End(err error) {
	s.mu.Lock()
	s.is.Err = err
	is := s.is
	s.mu.Unlock()
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.spans = append(s.r.spans, is)
	close(s.r.ended)
	s.r.ended = make(chan struct{})
}
