package sharding

import (
	"context"
	"fmt"
	"reflect"
)

// Ask sends a request to an entity and waits for its reply, until ctx ends or, if it has no
// deadline, for EntityType.AskTimeout. The reply's type follows from the request's. req must be an
// M; the compiler cannot see that, so it is an error.
//
// A handler that asks its own entity, or one that waits for it, waits for itself until the time is
// over.
//
// Errors: those of Region.Tell, and ErrTimeout, ErrNoReply, ErrHandler, ErrReplyType,
// ErrTooManyAsks, ErrMoving, ErrNodeGone, and ErrUnsent, which is one of these.
func Ask[R, M any](ctx context.Context, to *Region[M], id string, req Request[R]) (R, error) {
	q := &question[R]{r: to.plane}
	c, env, err := q.open(ctx, req, accepts[M](req))
	if err == nil {
		err = q.wait(ctx, c, to.plane.send(ctx, id, env))
	}
	if err != nil {
		err = to.plane.explained(id, err)
	}
	return q.value, err
}

// AskRef is Ask through a reference.
func AskRef[R, M any](ctx context.Context, to *EntityRef[M], req Request[R]) (R, error) {
	q := &question[R]{r: to.region.plane}
	c, env, err := q.open(ctx, req, accepts[M](req))
	if err == nil {
		err = q.wait(ctx, c, to.region.plane.sendTo(ctx, &to.to, env))
	}
	if err != nil {
		err = to.region.plane.explained(to.to.id, err)
	}
	return q.value, err
}

func accepts[M any](req any) error {
	if _, ok := req.(M); ok {
		return nil
	}
	return fmt.Errorf("%w: %T is no %v", ErrUnregisteredMessage, req, reflect.TypeFor[M]())
}
