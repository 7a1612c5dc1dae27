package dataplane

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Question is one Ask, and the place for its reply.
type Question[R any] struct {
	R     *Plane
	Plain bool // the answer is this package's own, in CBOR whatever the codec
	Value R
}

// Open takes a slot for the question and makes its envelope.
func (q *Question[R]) Open(ctx context.Context, req any, err error) (*call, Envelope, error) {
	r := q.R
	if err != nil {
		return nil, Envelope{}, err
	}
	if h := HandlerOf(ctx); h != nil && !h.Holds(r) {
		return nil, Envelope{}, failure.ErrNoLease
	}
	c, id, err := r.Asks.begin(q)
	if err != nil {
		return nil, Envelope{}, err
	}
	if !hasDeadline(ctx) {
		c.deadline.Store(int64(r.Clock() + r.AskTimeout))
		r.IdleScan.arm()
	}
	return c, Envelope{Msg: req, Call: id, Origin: r.Self}, nil
}

// Wait waits for the answer of a question that was sent, with the outcome of sending it, and frees
// its slot.
func (q *Question[R]) Wait(ctx context.Context, c *call, sent error) error {
	defer q.R.Asks.end(c)
	if sent != nil {
		if c.abandon() {
			return q.R.Asks.timedOut(sent)
		}
		q.R.Scheduler.Await(c.done, nil, nil) // it was answered all the same
		return q.R.Asks.timedOut(c.err)
	}
	if h := HandlerOf(ctx); h != nil && h.entity != nil {
		p := h.entity.Shard.region.Pool
		p.block()
		defer p.unblock()
	}
	return q.R.Asks.timedOut(q.R.Asks.wait(ctx, c))
}

// timedOut counts what took too long, and is timedOut.
func (a *asks) timedOut(err error) error {
	if err = timedOut(err); errors.Is(err, failure.ErrTimeout) {
		a.late.Add(1)
	}
	return err
}

// timedOut makes ErrTimeout of a context's deadline, so that callers match one error.
func timedOut(err error) error {
	if err != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, failure.ErrTimeout) {
		return fmt.Errorf("%w: %w", failure.ErrTimeout, err)
	}
	return err
}

// accept implements sink.
func (q *Question[R]) accept(v any) error {
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

// Decode implements sink.
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
	env, err := q.R.decoder.decode(&codec.Message{Type: typ, Body: rd.Rest()})
	if err != nil {
		return err
	}
	return q.accept(env.Msg)
}
