package postgres

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
)

// An Acquire that waits for its turn when Release is called does not acquire later, whether Release
// gets a turn or gives up.
func TestReleaseEndsTheAcquireThatWaits(t *testing.T) {
	lockstest.ReleaseEndsWaiting(t, func(*testing.T) (locks.Lock, func()) {
		d := &door{s: &Store{}, name: "x", turn: make(chan struct{}, 1)}
		d.turn <- struct{}{}
		return d, d.leave
	})
}
