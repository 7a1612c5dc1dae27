package entities

import (
	"context"

	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
)

// trace is where in a trace the message at hand is. What the handler's context is asked for is looked
// for here, too.
type trace struct {
	ctx  context.Context // has the trace and its baggage, and nothing else
	span tracing.Span    // of the handler; nil: it has none
}

// follow has the making of an incarnation belong to the trace of the message that it is made for.
func follow(s *spans.Spans, e *Entity, env mailbox.Envelope) {
	if _, header := env.Open(); header != nil {
		e.extras().trace.Store(&trace{ctx: s.Open(header)})
	}
}

// beginHandler begins the span of a handler, and takes the header off its message. What other protocols send
// has spans of their own, and timers have none.
func beginHandler(s *spans.Spans, e *Entity, env *mailbox.Envelope, op spans.Op) {
	msg, header := env.Open()
	env.Msg = msg
	if _, raw := msg.(codec.Raw); raw || env.Call == mailbox.TimerCall {
		return
	}
	if env.Call != 0 {
		op = spans.Answer
	}
	BeginSpan(s, e, op, header, msg)
}

// BeginSpan begins a span below that of a header, which may be nil, and has what the handler at hand does from
// now on belong to it. It ends with the message. A span that was begun before for the message ends now.
// It is for the handler's goroutine.
func BeginSpan(s *spans.Spans, e *Entity, op spans.Op, header []byte, msg any) tracing.Span {
	x := e.extras()
	var ctx context.Context
	if t := x.trace.Load(); t != nil && t.span == nil {
		ctx = t.ctx // the incarnation was made for this message
	} else {
		x.endSpan(nil)
		ctx = s.Open(header)
	}
	ctx, span := s.Begin(ctx, op, spans.Subject{ID: e.ID, Shard: e.Shard.Number, Msg: msg})
	x.trace.Store(&trace{ctx, span})
	return span
}

// endSpan ends the span of the message at hand, if there is one.
func (x *extra) endSpan(err error) {
	t := x.trace.Load()
	if t == nil {
		return
	}
	x.trace.Store(nil)
	if t.span != nil {
		t.span.End(err)
	}
}

// value is what the trace of the message at hand has for a key. x may be nil.
func (x *extra) value(key any) any {
	if x == nil {
		return nil
	}
	if t := x.trace.Load(); t != nil {
		return t.ctx.Value(key)
	}
	return nil
}
