package spans

import (
	"context"
	"log/slog"
	"reflect"

	"github.com/coterie-go/coterie/ddata/tracing"
)

// Op is what is done with a message.
type Op uint8

// The operations, each with the span that it has.
const (
	Tell    Op = iota // from the begin of a Tell until the message is on its way
	Ask               // from the begin of an Ask until its answer
	Receive           // the handler of a message that was told
	Answer            // the handler of a question
	Buffer            // the time for which a message waits for the home of its shard
	Forward           // the moment at which a node passes a message on
	Remind            // the handler of a reminder
	Deliver           // from the call of a producer until the message is taken, stored or confirmed
	Confirm           // the handler of a message that was delivered
	Save              // from a write of an entity to its store until the answer
	Recover           // from a read of what an entity has stored until the answer
	ops
)

// about is what the span of each Op is like.
var about = [ops]struct {
	kind       tracing.Kind
	name, does string // does: the type of the operation; empty: none
}{
	Tell:    {tracing.Producer, "tell", "send"},
	Ask:     {tracing.Client, "ask", "send"},
	Receive: {tracing.Consumer, "receive", "process"},
	Answer:  {tracing.Server, "answer", "process"},
	Buffer:  {tracing.Internal, "buffer", ""},
	Forward: {tracing.Internal, "forward", ""},
	Remind:  {tracing.Consumer, "remind", "process"},
	Deliver: {tracing.Producer, "deliver", "send"},
	Confirm: {tracing.Consumer, "confirm", "process"},
	Save:    {tracing.Client, "save", ""},
	Recover: {tracing.Client, "recover", ""},
}

// Spans begins spans. Its methods may be called from any goroutine.
type Spans struct {
	tracing.Headers
	typ   string // the entity type's name
	names [ops]string
}

// Subject is the message that a span is of.
type Subject struct {
	ID    string // of the entity
	Shard uint32
	Msg   any // nil: it is encoded
}

// New makes the Spans of an entity type; nil: nothing is traced.
func New(t tracing.Tracer, typ string) *Spans {
	if t == nil {
		return nil
	}
	s := &Spans{Headers: tracing.Headers{Tracer: t}, typ: typ}
	for op := range ops {
		s.names[op] = about[op].name + " " + typ
	}
	return s
}

// Begin begins a span below that of ctx. It returns a context with the span.
func (s *Spans) Begin(ctx context.Context, op Op, of Subject) (context.Context, tracing.Span) {
	ctx, span := s.Tracer.Start(ctx, about[op].kind, s.names[op])
	if span.Records() {
		s.describe(span, op, of)
	}
	return ctx, span
}

func (s *Spans) describe(span tracing.Span, op Op, of Subject) {
	attrs := [...]slog.Attr{
		slog.String("messaging.system", "coterie"), slog.String("messaging.destination.name", s.typ),
		slog.String("messaging.operation.name", about[op].name), slog.String("coterie.entity.id", of.ID),
		slog.Int64("coterie.shard", int64(of.Shard)),
		{}, {},
	}
	n := len(attrs) - 2
	if does := about[op].does; does != "" {
		attrs[n] = slog.String("messaging.operation.type", does)
		n++
	}
	if of.Msg != nil {
		attrs[n] = slog.String("coterie.message.type", reflect.TypeOf(of.Msg).String())
		n++
	}
	span.Add(attrs[:n]...)
}
