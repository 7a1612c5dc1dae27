package sharding

import (
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// exiting is an entity that ends the goroutine of its Stop.
type exiting struct{}

func (exiting) Receive(c *Context[message_], m message_) error {
	if _, ok := m.(leaveNow); ok {
		c.Passivate()
		return nil
	}
	return c.Reply(1)
}

// Stop implements Stopper.
func (exiting) Stop(*Context[message_]) error {
	runtime.Goexit()
	return nil
}

// A Stop that ends its goroutine ends the incarnation: what waits gets the next one, a shard of
// such entities moves, and the workers stay.
func TestStopThatEndsItsGoroutine(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		var failures []Failure
		typ := cartType(&cartLog{})
		typ.Limits.Workers, typ.Shards = 1, 1
		typ.New = func(*Context[message_]) Entity[message_] { return exiting{} }
		typ.OnEvent = onEvent(func(f Failure) { failures = append(failures, f) })
		first := w.join("backend")
		regions := []*Region[message_]{start(first, typ), start(w.join("backend"), typ)}
		w.install()
		ctx := within(t, 5*time.Second)
		if _, err := Ask(ctx, regions[0].Ref("a"), total{}); err != nil { // its home is known
			t.Fatal(err)
		}
		for range 3 {
			if err := regions[0].Tell(ctx, "a", leaveNow{}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait() // it has stopped
			if _, err := Ask(ctx, regions[0].Ref("a"), total{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.leaves(first, 5*time.Second); err != nil {
			t.Error(err)
		}
		if _, err := Ask(ctx, regions[1].Ref("a"), total{}); err != nil {
			t.Error(err)
		}
		if len(failures) != 4 || !errors.Is(failures[0].Err, ErrGoexit) {
			t.Errorf("%d failures, want 4 of a Stop that ended its goroutine", len(failures))
		}
	})
}
