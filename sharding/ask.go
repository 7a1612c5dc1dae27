package sharding

import (
	"context"
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/sharding/dataplane"
)

// Ask sends a request to an entity and waits for its reply, until ctx ends or, if it has no
// deadline, for EntityType.Timeouts.Ask. The reply's type follows from the request's. req must be
// an M; the compiler cannot see that, so it is an error.
//
// A handler that asks its own entity, or one that waits for it, waits for itself until the time is
// over.
//
// Errors: those of Region.Tell, and ErrTimeout, ErrNoReply, ErrHandler, ErrReplyType,
// ErrTooManyAsks, ErrMoving, ErrNodeGone, and ErrUnsent, which is one of these.
func Ask[R, M any](ctx context.Context, to *Region[M], id string, req Request[R]) (R, error) {
	q := &dataplane.Question[R]{R: to.plane}
	c, env, err := q.Open(ctx, req, accepts[M](req))
	if err == nil {
		err = q.Wait(ctx, c, to.plane.Send(ctx, id, env))
	}
	if err != nil {
		err = to.plane.Explained(id, err)
	}
	return q.Value, err
}

// AskRef is Ask through a reference.
func AskRef[R, M any](ctx context.Context, to *EntityRef[M], req Request[R]) (R, error) {
	q := &dataplane.Question[R]{R: to.region.plane}
	c, env, err := q.Open(ctx, req, accepts[M](req))
	if err == nil {
		err = q.Wait(ctx, c, to.region.plane.SendTo(ctx, &to.to, env))
	}
	if err != nil {
		err = to.region.plane.Explained(to.to.ID, err)
	}
	return q.Value, err
}

func accepts[M any](req any) error {
	if _, ok := req.(M); ok {
		return nil
	}
	return fmt.Errorf("%w: %T is no %v", ErrUnregisteredMessage, req, reflect.TypeFor[M]())
}
