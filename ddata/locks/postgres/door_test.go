package postgres

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/proptest/bubble"
)

// An Acquire that waits for its turn when Release is called does not acquire later, whether Release
// gets a turn or gives up.
func TestReleaseEndsTheAcquireThatWaits(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		d := &door{s: &Store{}, name: "x", turn: make(chan struct{}, 1)}
		d.turn <- struct{}{}
		acquired := make(chan error, 1)
		go func() {
			_, err := d.Acquire(t.Context(), nil)
			acquired <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := d.Release(ctx); !errors.Is(err, context.Canceled) {
			t.Error("released:", err)
		}
		d.leave()
		if err := <-acquired; !errors.Is(err, locks.ErrNotHeld) {
			t.Error("acquired:", err)
		}
	})
}
