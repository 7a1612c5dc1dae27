package dataplane

import (
	"context"

	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
)

// Tell sends a message of this node, as Send does. It belongs to the trace of from.
func (r *Plane) Tell(ctx, from context.Context, id string, msg any) (err error) {
	s := r.Entities.Spans
	if s == nil {
		return r.Send(ctx, id, mailbox.Envelope{Msg: msg})
	}
	from, span := s.Begin(from, spans.Tell, spans.Subject{ID: id, Shard: r.Routes.ShardOf(id), Msg: msg})
	defer func() { span.End(err) }()
	return r.Send(ctx, id, mailbox.Envelope{Msg: traced(msg, s.Of(from))})
}

// TellTo is Tell to an address that is kept, within the trace of ctx.
func (r *Plane) TellTo(ctx context.Context, a *Address, msg any) (err error) {
	s := r.Entities.Spans
	if s == nil {
		return r.SendTo(ctx, a, mailbox.Envelope{Msg: msg})
	}
	ctx, span := s.Begin(ctx, spans.Tell, spans.Subject{ID: a.ID, Shard: a.Number, Msg: msg})
	defer func() { span.End(err) }()
	return r.SendTo(ctx, a, mailbox.Envelope{Msg: traced(msg, s.Of(ctx))})
}

// traced is a message with a header; nil: it has none.
func traced(msg any, header []byte) any {
	if header == nil {
		return msg
	}
	return &mailbox.Traced{Msg: msg, Header: header}
}

// SendsHeaders reports whether messages leave this node with their headers.
func (b *Outbox) SendsHeaders() bool { return b.readHeaders != nil && b.readHeaders() }

// notePassedOn shows in the trace of a message, by its header, that this node has passed it on.
func notePassedOn(s *spans.Spans, m *codec.Message, header []byte) {
	if s != nil && len(header) > 0 {
		_, span := s.Begin(s.Open(header), spans.Forward, spans.Subject{ID: string(m.ID), Shard: m.Shard})
		span.End(nil)
	}
}
