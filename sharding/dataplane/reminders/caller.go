package reminders

import (
	"context"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// caller makes the calls of a store. Any goroutine may use it.
type caller struct {
	scheduler scheduler.Scheduler
	slots     chan struct{} // one token for each call that may begin
}

// callsMax is how many calls of the store are under way at a time.
const callsMax = 64

func newCaller(c Config) caller {
	x := caller{c.Scheduler, make(chan struct{}, callsMax)}
	for range callsMax {
		x.slots <- struct{}{}
	}
	return x
}

// call runs fn with a time limit, when it is its turn. A panic is an error like another.
func (x caller) call(ctx context.Context, limit time.Duration, fn func(context.Context) error) (err error) {
	if x.scheduler.Await(x.slots, ctx.Done(), nil) == 1 {
		return context.Cause(ctx)
	}
	defer func() { x.slots <- struct{}{} }()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sharding: remind.Store panicked: %v", p)
		}
	}()
	ctx, cancel := x.scheduler.WithTimeout(ctx, limit)
	defer cancel()
	return fn(ctx)
}
