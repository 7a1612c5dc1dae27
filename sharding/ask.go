package sharding

import (
	"context"
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/sharding/dataplane"
)

// Recipient is what can be asked with requests of an M: an *EntityRef, for one entity, or an
// Extractor, for the entity that each request names.
type Recipient[M any] interface {
	// recipient returns the region to ask, the entity, and the message for it.
	recipient(req M) (p *dataplane.Plane, to *dataplane.Address, msg any, err error)
}

// Ask sends a request to an entity and waits for its reply, until ctx ends or, if it has no
// deadline, for EntityType.Timeouts.Ask. The compiler checks that the request is one for the
// recipient's entities, and the reply's type follows from it.
//
//	total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
//
// A handler that asks its own entity, or one that waits for it, waits for itself until the time is
// over.
//
// Errors: those of Region.Tell, and ErrTimeout, ErrNoReply, ErrHandler, ErrReplyType,
// ErrTooManyAsks, ErrMoving, ErrNodeGone, and ErrUnsent, which is one of these.
// ErrUnregisteredMessage is also that of a request whose Returns names an M that it does not
// implement. That of an Extractor is returned as it is.
func Ask[M, R any](ctx context.Context, to Recipient[M], req Request[M, R]) (R, error) {
	msg, ok := any(req).(M)
	if !ok {
		var none R
		return none, fmt.Errorf("%w: %T says that it is a %v, and does not implement it", ErrUnregisteredMessage, req,
			reflect.TypeFor[M]())
	}
	p, at, sent, err := to.recipient(msg)
	if err != nil {
		var none R
		return none, err
	}
	q := &dataplane.Question[R]{R: p}
	if err = q.Ask(ctx, at, sent); err != nil {
		err = p.Explained(at.ID, err)
	}
	return q.Value, err
}
