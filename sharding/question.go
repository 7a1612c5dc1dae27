package sharding

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// question is one Ask, and the place for its reply.
type question[R any] struct {
	r     *core
	plain bool // the answer is this package's own, in CBOR whatever the codec
	value R
}

// open takes a slot for the question and makes its envelope.
func (q *question[R]) open(ctx context.Context, req any, err error) (*call, envelope, error) {
	r := q.r
	if err != nil {
		return nil, envelope{}, err
	}
	if h := handlerOf(ctx); h != nil && !h.holds(r) {
		return nil, envelope{}, ErrNoLease
	}
	c, id, err := r.asks.begin(q)
	if err != nil {
		return nil, envelope{}, err
	}
	if !hasDeadline(ctx) {
		c.deadline.Store(int64(r.clock() + r.askTimeout))
		r.idleScan.arm()
	}
	return c, envelope{msg: req, call: id, origin: r.self}, nil
}

// wait waits for the answer of a question that was sent, with the outcome of sending it, and frees
// its slot.
func (q *question[R]) wait(ctx context.Context, c *call, sent error) error {
	defer q.r.asks.end(c)
	if sent != nil {
		if c.abandon() {
			return q.r.asks.timedOut(sent)
		}
		<-c.done // it was answered all the same
		return q.r.asks.timedOut(c.err)
	}
	if h := handlerOf(ctx); h != nil && h.entity != nil {
		p := h.entity.shard.region.pool
		p.block()
		defer p.unblock()
	}
	return q.r.asks.timedOut(c.wait(ctx))
}

// timedOut counts what took too long, and is timedOut.
func (a *asks) timedOut(err error) error {
	if err = timedOut(err); errors.Is(err, ErrTimeout) {
		a.late.Add(1)
	}
	return err
}

// timedOut makes ErrTimeout of a context's deadline, so that callers match one error.
func timedOut(err error) error {
	if err != nil && errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrTimeout) {
		return fmt.Errorf("%w: %w", ErrTimeout, err)
	}
	return err
}

// accept implements sink.
func (q *question[R]) accept(v any) error {
	if v == nil {
		return nil
	}
	got, ok := v.(R)
	if !ok {
		return fmt.Errorf("%w: want %v, got %T", ErrReplyType, reflect.TypeFor[R](), v)
	}
	q.value = got
	return nil
}

// decode implements sink.
func (q *question[R]) decode(body []byte) error {
	if reflect.TypeFor[R]().Kind() != reflect.Interface {
		enc := q.r.reg.Encoding
		if q.plain {
			enc = nil
		}
		if err := codec.DecodeInto(enc, body, &q.value); err != nil {
			q.r.panics.noteCodec(err)
			return fmt.Errorf("%w: reply: %w", ErrEncoding, err)
		}
		return nil
	}
	rd := cbor.NewReader(body)
	rd.Tuple(2)
	typ := rd.Uint32()
	if rd.Err() != nil {
		return fmt.Errorf("%w: malformed reply", ErrEncoding)
	}
	env, err := q.r.decoder.decode(&codec.Message{Typ: typ, Body: rd.Rest()})
	if err != nil {
		return err
	}
	return q.accept(env.msg)
}
