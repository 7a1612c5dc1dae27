package lockstest

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// ReleaseEndsWaiting holds a lock whose calls take turns to: an Acquire that waits for its turn when Release
// is called does not acquire later, also if Release gives up. open makes the lock while another call has the
// turn, which leave ends.
func ReleaseEndsWaiting(t *testing.T, open func(t *testing.T) (l locks.Lock, leave func())) {
	bubble.Test(t, func(t *testing.T) {
		l, leave := open(t)
		acquired := make(chan error, 1)
		go func() {
			_, err := l.Acquire(t.Context(), nil)
			acquired <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.Release(ctx); !errors.Is(err, context.Canceled) {
			t.Error("released:", err)
		}
		leave()
		if err := <-acquired; !errors.Is(err, locks.ErrNotHeld) {
			t.Error("acquired:", err)
		}
	})
}
