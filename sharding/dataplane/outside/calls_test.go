package outside

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// No more calls are under way than may be; each has its limit; and the end of the region ends those that
// wait.
func TestCalls(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := New("a store", scheduler.Goroutines{})
		ctx, cancel := context.WithCancel(context.Background())
		var running, most atomic.Int32
		ended := make(chan error)
		for range Max + 1 {
			go func() {
				ended <- c.InTurn(ctx, time.Second, func(ctx context.Context) error {
					most.Store(max(most.Load(), running.Add(1))) // one begins at a time, for the test waits
					<-ctx.Done()
					running.Add(-1)
					return ctx.Err()
				})
			}()
			synctest.Wait()
		}
		if running.Load() != Max {
			t.Errorf("%d calls run, want %d", running.Load(), Max)
		}
		for range Max {
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
		}
		synctest.Wait()
		if running.Load() != 1 || most.Load() != Max {
			t.Errorf("%d calls run, at most %d did", running.Load(), most.Load())
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// What a store panics with is an error that names the store, and the next call has its turn.
func TestPanic(t *testing.T) {
	c := New("a store", scheduler.Goroutines{})
	for range Max + 1 {
		err := c.InTurn(t.Context(), time.Minute, func(context.Context) error { panic("planned") })
		if err == nil || !strings.Contains(err.Error(), "a store panicked: planned") {
			t.Fatal(err)
		}
	}
}
