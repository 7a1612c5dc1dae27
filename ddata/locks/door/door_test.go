package door_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/locks/door"
	"github.com/coterie-go/coterie/ddata/locks/lockstest"
)

// lease is one in memory, of which a test says how it answers.
type lease struct {
	*door.Door[*hold, string]
	locks.Lock // what a Door has not, no test of this package calls

	acquires func(context.Context) (*hold, error)
	undone   []string
	fails    error // of Undo
}

type hold struct{ until time.Time }

var errExpired, errLate = errors.New("expired"), errors.New("late")

func newLease() *lease {
	l := &lease{acquires: func(context.Context) (*hold, error) { return &hold{time.Now().Add(time.Hour)}, nil }}
	l.Door = door.New(l)
	return l
}

func (*lease) Refer(err error) error { return fmt.Errorf("lease x: %w", err) }
func (*lease) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithCancel(ctx)
}
func (l *lease) TryAcquire(ctx context.Context) (*hold, error) { return l.acquires(ctx) }
func (l *lease) Undo(_ context.Context, r string) error {
	if l.fails == nil {
		l.undone = append(l.undone, r)
	}
	return l.fails
}
func (*lease) Keep(ctx context.Context, _ *hold)                        { <-ctx.Done() }
func (*lease) Rest(*hold) string                                        { return "hold" }
func (*lease) End(h *hold) time.Time                                    { return h.until }
func (*lease) Lasts(h *hold) bool                                       { return time.Now().Before(h.until) }
func (*lease) Expired() error                                           { return errExpired }
func (*lease) Late() error                                              { return errLate }
func (l *lease) Acquire(c context.Context, f func(error)) (bool, error) { return l.Door.Acquire(c, f) }
func (l *lease) Release(c context.Context) error                        { return l.Door.Release(c) }
func (l *lease) Until() time.Time                                       { return l.Door.Until() }
func (l *lease) Close() error                                           { return l.Door.Close() }

// An Acquire that waits for its turn when Release is called does not acquire later.
func TestReleaseEndsTheAcquireThatWaits(t *testing.T) {
	lockstest.ReleaseEndsWaiting(t, func(t *testing.T) (locks.Lock, func()) {
		l := newLease()
		_, leave, err := l.Enter(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return l, leave
	})
}

// What a hold leaves is undone before the next attempt, and by Release; what cannot be undone is kept.
func TestRest(t *testing.T) {
	l := newLease()
	must := func(ok bool, err error) {
		t.Helper()
		if !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	must(l.Acquire(t.Context(), nil))
	l.fails = errors.New("down")
	if err := l.Release(t.Context()); !errors.Is(err, l.fails) || !l.Until().IsZero() {
		t.Errorf("released: %v, until %v", err, l.Until())
	}
	if ok, err := l.Acquire(t.Context(), nil); ok || !errors.Is(err, l.fails) {
		t.Errorf("acquired above a rest: %t, %v", ok, err)
	}
	l.fails = nil
	must(l.Acquire(t.Context(), nil))
	must(l.Acquire(t.Context(), nil)) // it is the holder
	if err := errors.Join(l.Release(t.Context()), l.Release(t.Context()), l.Close()); err != nil {
		t.Error(err)
	}
	if got := fmt.Sprint(l.undone); got != "[hold hold]" {
		t.Errorf("undone: %s", got)
	}
	if _, err := l.Acquire(t.Context(), nil); !errors.Is(err, locks.ErrClosed) {
		t.Error(err)
	}
}

// An attempt that is released while it is under way, or is answered when its time is over, is no hold, and is undone.
func TestGivenUp(t *testing.T) {
	l := newLease()
	var released sync.WaitGroup
	l.acquires = func(ctx context.Context) (*hold, error) {
		released.Go(func() {
			if err := l.Release(t.Context()); err != nil {
				t.Error(err)
			}
		})
		<-ctx.Done() // it is given up, and the server has answered all the same
		return &hold{time.Now().Add(time.Hour)}, nil
	}
	if ok, err := l.Acquire(t.Context(), nil); ok || !errors.Is(err, locks.ErrNotHeld) {
		t.Errorf("released meanwhile: %t, %v", ok, err)
	}
	released.Wait()
	l.acquires = func(context.Context) (*hold, error) { return &hold{time.Now()}, nil }
	if ok, err := l.Acquire(t.Context(), nil); ok || !errors.Is(err, errLate) {
		t.Errorf("answered late: %t, %v", ok, err)
	}
	if err := l.Close(); err != nil || fmt.Sprint(l.undone) != "[hold hold]" {
		t.Errorf("%v, undone: %q", err, l.undone)
	}
}

// The owner is told once of a hold whose time is over, and never of one that it released.
func TestLoss(t *testing.T) {
	l, lost := newLease(), make(chan error, 4)
	h := &hold{time.Now().Add(time.Hour)}
	l.acquires = func(context.Context) (*hold, error) { return h, nil }
	tell := func(err error) { lost <- err }
	acquire := func() {
		t.Helper()
		if ok, err := l.Acquire(t.Context(), tell); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	acquire()
	l.Locked(func() { h.until = time.Now() })
	for range 3 {
		if _, held := l.Held(); held || !l.Until().IsZero() {
			t.Error("it is held when its time is over")
		}
	}
	if err := <-lost; !errors.Is(err, errExpired) {
		t.Error(err)
	}
	if err := l.AsHolder(t.Context(), nil); !errors.Is(err, locks.ErrNotHeld) {
		t.Error(err)
	}
	h = &hold{time.Now().Add(time.Hour)}
	acquire()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	l.Lose(h, errExpired)
	if len(lost) > 0 {
		t.Error("told again:", <-lost)
	}
}
