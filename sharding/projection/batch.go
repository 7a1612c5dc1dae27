package projection

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Recorded is an event as a handler gets it. What it refers to is the handler's.
type Recorded[E any] struct {
	Entity  protocol.EntityID
	Seq     uint64 // its number in the history of the entity
	Event   E
	Tags    []string
	At      time.Time          // when it was written, by the clock of the writer
	Offset  persistence.Offset // the place after it
	name    string             // of its type, as it is stored
	version uint32
}

// Batch is events of a part, in their order.
type Batch[E any] struct {
	Events []Recorded[E]
	After  Progress // of the part when all events are handled

	failed  int           // the event that Each has failed with, from 1; 0: none
	timeout time.Duration // for one event; not above 0: none
	overdue func(e Recorded[E]) (over func())
}

// Each calls handle for one event after the other, until one fails. It returns how many have
// succeeded. Each call has Config.HandleTimeout. A panic is an error.
func (b *Batch[E]) Each(
	ctx context.Context, handle func(ctx context.Context, e Recorded[E]) error,
) (handled int, err error) {
	for i := range b.Events {
		if err := ctx.Err(); err != nil {
			return i, err
		}
		if err := b.one(ctx, b.Events[i], handle); err != nil {
			b.failed = i + 1
			return i, err
		}
	}
	return len(b.Events), nil
}

// one calls handle, and waits for it even if its time is over: the next event must not be handled
// beside it.
func (b *Batch[E]) one(
	ctx context.Context, e Recorded[E], handle func(ctx context.Context, e Recorded[E]) error,
) (err error) {
	if b.timeout > 0 {
		cause := fmt.Errorf("the handler has not returned within %v: %w", b.timeout, context.DeadlineExceeded)
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, b.timeout, cause)
		defer cancel()
		defer b.overdue(e)()
	}
	returned := false
	defer func() {
		if !returned {
			err = failure.OfRecovered(recover())
		} else if err != nil && ctx.Err() != nil {
			err = fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
	}()
	err = handle(ctx, e)
	returned = true
	return err
}
