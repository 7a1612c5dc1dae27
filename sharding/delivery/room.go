package delivery

import (
	"context"
	"sync"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
)

// room counts what a producer holds, and lets callers wait while it is full.
type room struct {
	node               scheduler.Scheduler
	countMax, bytesMax int

	mu           sync.Mutex
	count, bytes int
	waits        uint64           // how often a message has found it full
	freed        runloop.Progress // something was let go
}

// take waits for room for one message of n bytes. A message that is larger than everything goes
// alone.
func (r *room) take(ctx context.Context, closed <-chan struct{}, n int) error {
	first := true
	return r.wait(ctx, closed, func() bool {
		ok := r.count == 0 || r.count < r.countMax && r.bytes+n <= r.bytesMax
		if ok {
			r.count, r.bytes = r.count+1, r.bytes+n
		} else if first {
			r.waits++
		}
		first = false
		return ok
	})
}

// look tells how much is held, and how often a message had to wait.
func (r *room) look() (count, bytes int, waits uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.count, r.bytes, r.waits
}

// empty waits until nothing is held.
func (r *room) empty(ctx context.Context, closed <-chan struct{}) error {
	return r.wait(ctx, closed, func() bool { return r.count == 0 })
}

func (r *room) wait(ctx context.Context, closed <-chan struct{}, done func() bool) error {
	for {
		r.mu.Lock()
		if done() {
			r.mu.Unlock()
			return nil
		}
		freed := r.freed.Next()
		r.mu.Unlock()
		switch r.node.Await(freed, ctx.Done(), closed) {
		case 1:
			return ctx.Err()
		case 2:
			return ErrClosed
		}
	}
}

// give takes back what messages of these sizes had.
func (r *room) give(sizes ...int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count -= len(sizes)
	for _, n := range sizes {
		r.bytes -= n
	}
	r.freed.Made()
}
