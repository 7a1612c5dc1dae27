package scheduler

import (
	"context"
	"time"
)

// Clock is the time of a component. Its methods are safe for concurrent use.
type Clock interface {
	// Now is the present time.
	Now() time.Time
	// Since is the time that has passed since t, which Now has returned. It costs less than Now.
	Since(t time.Time) time.Duration
	// AfterFunc calls fn after d, beside its caller, unless the timer is stopped before.
	AfterFunc(d time.Duration, fn func()) Timer
	// WithTimeout is context.WithTimeout by this clock.
	WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc)
}

// Timer is one call that a Clock makes later. *time.Timer is one.
type Timer interface {
	// Stop takes the call back. It reports whether that was still possible.
	Stop() bool
	// Reset has the call made after d, again if it was made before.
	Reset(d time.Duration) bool
}

// Scheduler is the time of a component, and its way to run functions beside their caller. Its
// methods are safe for concurrent use.
type Scheduler interface {
	Clock
	// Go runs fn beside the caller. It does not wait.
	Go(fn func())
	// Await receives from the first of three channels that has something, and returns its place: 0, 1
	// or 2. A nil channel never has anything. It is called by functions that Go or AfterFunc runs.
	Await(a, b, c <-chan struct{}) int
	// Yield lets other functions run for a moment. A caller that looks again and again for what
	// others bring calls it in between, a few times at most.
	Yield()
	// Shield calls fn, which does not wait, and returns when it has returned or has ended its
	// goroutine.
	Shield(fn func())
	// Uint64 is a random number.
	Uint64() uint64
}
