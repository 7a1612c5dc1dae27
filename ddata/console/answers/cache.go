package answers

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// ErrBusy: as many questions as may be are under way. Ask again.
var ErrBusy = errors.New("console: too many questions at one time")

// keysMax bounds what is kept. Keys come from callers.
const keysMax = 256

// Cache keeps answers. It may be used from any goroutine.
type Cache[T any] struct {
	live    time.Duration
	permits chan struct{} // each permit is taken by a question that is under way
	clock   func() time.Time

	mu    sync.Mutex
	byKey map[string]*entry[T]
}

// entry is one question. What it holds beside done is written before done is closed.
type entry[T any] struct {
	done  chan struct{} // closed with the answer
	value T
	err   error
	until time.Time

	permit bool // it has taken one
}

// within marks the context of a question: what it asks of the cache itself has no permit of its own, or questions
// that have all permits could not go on.
type within struct{}

// New makes a cache whose answers live for a time, and which has most questions under way.
func New[T any](live time.Duration, most int, clock func() time.Time) *Cache[T] {
	return &Cache[T]{live: live, permits: make(chan struct{}, most), clock: clock, byKey: map[string]*entry[T]{}}
}

// Get returns the answer for a key, by ask when there is no fresh one. ask is bounded by its own
// context, which outlives callers that go: others may wait for the same answer. An ask that calls Get with
// its context takes no second permit.
//
// Errors: ErrBusy, ctx's, those of ask.
func (c *Cache[T]) Get(ctx context.Context, key string, ask func(context.Context) (T, error)) (T, error) {
	e, mine, err := c.find(key, ctx.Value(within{}) == nil)
	if err != nil {
		var none T
		return none, err
	}
	if mine {
		go c.answer(context.WithoutCancel(ctx), key, e, ask)
	}
	select {
	case <-e.done:
		return e.value, e.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// find returns the entry of a key; mine: the caller has it answered, with a permit if it needs one.
func (c *Cache[T]) find(key string, permit bool) (e *entry[T], mine bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byKey[key]; e != nil && !c.stale(e) {
		return e, false, nil
	}
	if permit {
		select {
		case c.permits <- struct{}{}:
		default:
			return nil, false, ErrBusy
		}
	}
	c.makeRoom()
	e = &entry[T]{done: make(chan struct{}), permit: permit}
	c.byKey[key] = e
	return e, true, nil
}

// stale reports whether an entry is answered, and its time is over.
func (c *Cache[T]) stale(e *entry[T]) bool {
	select {
	case <-e.done:
		return !c.clock().Before(e.until)
	default:
		return false
	}
}

// makeRoom forgets what is stale, and one more if that is not enough.
func (c *Cache[T]) makeRoom() {
	if len(c.byKey) < keysMax {
		return
	}
	for k, e := range c.byKey { // order: all are looked at
		if c.stale(e) {
			delete(c.byKey, k)
		}
	}
	for k := range c.byKey { // order: any will do
		if len(c.byKey) < keysMax {
			return
		}
		delete(c.byKey, k)
	}
}

// answer asks. A panic of ask is its error: callers wait for done.
func (c *Cache[T]) answer(ctx context.Context, key string, e *entry[T], ask func(context.Context) (T, error)) {
	defer func() {
		if p := recover(); p != nil {
			e.err = fmt.Errorf("console: a question has panicked: %v", p)
		}
		e.until = c.clock().Add(c.live)
		if e.err != nil {
			c.forget(key, e)
		}
		if e.permit {
			<-c.permits // before the caller goes on: it may ask again at once
		}
		close(e.done)
	}()
	e.value, e.err = ask(context.WithValue(ctx, within{}, true))
}

// Clear forgets all answers, and those that are still to come: what they are about has changed. The
// callers that wait for them get them.
func (c *Cache[T]) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.byKey)
}

func (c *Cache[T]) forget(key string, e *entry[T]) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byKey[key] == e {
		delete(c.byKey, key)
	}
}
