package dataplane

import (
	"context"
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Question is one Ask, and the place for its reply.
type Question[R any] struct {
	R     *Plane
	Plain bool // the answer is this package's own, in CBOR whatever the codec
	Value R

	handler *entities.Handler // in which it is asked; nil: in none. Open looks for it
}

// Ask asks an entity, and waits for the answer.
func (q *Question[R]) Ask(ctx context.Context, to *Address, msg any) error {
	s := q.R.Entities.Spans
	if s == nil {
		return q.ask(ctx, to, msg)
	}
	ctx, span := s.Begin(ctx, spans.Ask, spans.Subject{ID: to.ID, Shard: to.Number, Msg: msg})
	err := q.ask(ctx, to, traced(msg, s.Of(ctx)))
	span.End(err)
	return err
}

func (q *Question[R]) ask(ctx context.Context, to *Address, msg any) error {
	began := q.R.Meters.now(q.R)
	c, env, err := q.Open(ctx, msg)
	if err == nil {
		err = q.Wait(ctx, c, q.R.SendTo(ctx, to, env))
	}
	if err == nil {
		q.R.Meters.answered(ctx, q.R, began)
	}
	return err
}

// Open takes a slot for the question and makes its envelope.
func (q *Question[R]) Open(ctx context.Context, req any) (*asks.Call, mailbox.Envelope, error) {
	r := q.R
	q.handler = entities.HandlerOf(ctx)
	if h := q.handler; h != nil && !h.Holds(r.Entities) {
		return nil, mailbox.Envelope{}, failure.ErrNoLease
	}
	c, id, err := r.Asks.Begin(q)
	if err != nil {
		return nil, mailbox.Envelope{}, err
	}
	if !hasDeadline(ctx) {
		r.Asks.Bound(c)
	}
	return c, mailbox.Envelope{Msg: req, Call: id, Origin: r.Self}, nil
}

// Wait waits for the answer of a question that was sent, with the outcome of sending it, and frees
// its slot.
func (q *Question[R]) Wait(ctx context.Context, c *asks.Call, sent error) error {
	if h := q.handler; sent == nil && h != nil {
		h.Block()
		defer h.Unblock()
	}
	return q.R.Asks.Await(ctx, c, sent)
}

// Accept implements asks.Sink.
func (q *Question[R]) Accept(v any) error {
	if v == nil {
		return nil
	}
	got, ok := v.(R)
	if !ok {
		return fmt.Errorf("%w: want %v, got %T", failure.ErrReplyType, reflect.TypeFor[R](), v)
	}
	q.Value = got
	return nil
}

// Decode implements asks.Sink.
func (q *Question[R]) Decode(body []byte) error {
	if reflect.TypeFor[R]().Kind() != reflect.Interface {
		enc := q.R.Registry.Encoding
		if q.Plain {
			enc = nil
		}
		if err := codec.DecodeInto(enc, body, &q.Value); err != nil {
			q.R.Panics.NoteCodec(err)
			return fmt.Errorf("%w: reply: %w", failure.ErrEncoding, err)
		}
		return nil
	}
	rd := cbor.NewReader(body)
	rd.Tuple(2)
	typ := rd.Uint32()
	if rd.Err() != nil {
		return fmt.Errorf("%w: malformed reply", failure.ErrEncoding)
	}
	env, err := q.R.incoming.Decode(&codec.Message{Type: typ, Body: rd.Rest()})
	if err != nil {
		return err
	}
	return q.Accept(env.Msg)
}
