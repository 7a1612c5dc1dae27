package sharding

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// Ask sends a request to an entity and waits for its reply, until ctx ends or, if it has no deadline, for EntityType.AskTimeout. The reply's
// type follows from the request's. req must be an M; the compiler cannot see that, so it is an error.
func Ask[R, M any](ctx context.Context, to *Region[M], id string, req Request[R]) (R, error) {
	v, err := ask[R](ctx, to.core, req, func(env envelope) error { return to.core.send(ctx, id, env) }, accepts[M](req))
	return v, to.core.explained(id, err)
}

// AskRef is Ask through a reference.
func AskRef[R, M any](ctx context.Context, to *EntityRef[M], req Request[R]) (R, error) {
	v, err := ask[R](ctx, to.region.core, req, func(env envelope) error { return to.send(ctx, env) }, accepts[M](req))
	return v, to.region.core.explained(to.id, err)
}

func accepts[M any](req any) error {
	if _, ok := req.(M); ok {
		return nil
	}
	return fmt.Errorf("%w: %T is no %v", ErrUnregisteredMessage, req, reflect.TypeFor[M]())
}

func ask[R any](ctx context.Context, r *core, req any, send func(envelope) error, err error) (R, error) {
	var none R
	if err != nil {
		return none, err
	}
	s := &sinkOf[R]{r: r}
	c, id, err := r.asks.begin(s)
	if err != nil {
		return none, err
	}
	defer r.asks.end(c)
	if _, ok := ctx.Deadline(); !ok {
		c.deadline.Store(int64(r.clock() + r.askTimeout))
		r.sweep.arm()
	}
	h := handlerOf(ctx)
	if h != nil && !r.lease.Holds() {
		return none, ErrNoLease
	}
	if err = send(envelope{msg: req, call: id, origin: r.self}); err != nil {
		if c.abandon() {
			return none, timedOut(err)
		}
		<-c.done // somebody answered all the same
		return s.value, timedOut(c.err)
	}
	if h != nil && h.entity != nil {
		p := h.entity.shard.region.pool
		p.block()
		defer p.unblock()
	}
	err = c.wait(ctx)
	return s.value, timedOut(err)
}

// timedOut makes ErrTimeout of a context's deadline, so that callers match one error.
func timedOut(err error) error {
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, ErrTimeout) {
		return errors.Join(ErrTimeout, err)
	}
	return err
}

// sinkOf receives the reply of one question.
type sinkOf[R any] struct {
	r     *core
	value R
}

func (s *sinkOf[R]) accept(v any) error {
	if v == nil {
		return nil
	}
	got, ok := v.(R)
	if !ok {
		return fmt.Errorf("%w: want %v, got %T", ErrReplyType, reflect.TypeFor[R](), v)
	}
	s.value = got
	return nil
}

func (s *sinkOf[R]) decode(body []byte) error {
	if reflect.TypeFor[R]().Kind() != reflect.Interface {
		if err := decMode.Unmarshal(body, &s.value); err != nil {
			return fmt.Errorf("%w: reply: %w", ErrEncoding, err)
		}
		return nil
	}
	rd := reader{b: body}
	if fields := rd.head(majorArray); fields != 2 {
		rd.bad = true
	}
	typ := uint32(rd.small(1<<32 - 1))
	if rd.bad {
		return fmt.Errorf("%w: malformed reply", ErrEncoding)
	}
	env, err := s.r.decode(&message{typ: typ, body: rd.b})
	if err != nil {
		return err
	}
	return s.accept(env.msg)
}
