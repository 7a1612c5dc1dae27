package outside

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// Calls are those of one store. Any goroutine may make one.
type Calls struct {
	store     string // its name in errors
	scheduler scheduler.Scheduler
	slots     chan struct{} // one token for each call that may begin
}

// Max is how many calls of one store are under way at a time.
const Max = 64

// New makes the Calls of a store.
func New(store string, s scheduler.Scheduler) Calls {
	c := Calls{store, s, make(chan struct{}, Max)}
	for range Max {
		c.slots <- struct{}{}
	}
	return c
}

// InTurn runs fn as Protect does, when it is its turn.
func (c Calls) InTurn(ctx context.Context, limit time.Duration, fn func(context.Context) error) error {
	if c.scheduler.Await(c.slots, ctx.Done(), nil) == 1 {
		return context.Cause(ctx)
	}
	defer func() { c.slots <- struct{}{} }()
	return c.Protect(ctx, limit, fn)
}

// Protect runs fn with a time limit. A panic is an error like another: it is repeated, or told.
func (c Calls) Protect(ctx context.Context, limit time.Duration, fn func(context.Context) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sharding: %s panicked: %v", c.store, p)
		}
	}()
	ctx, cancel := c.scheduler.WithTimeout(ctx, limit)
	defer cancel()
	return fn(ctx)
}
