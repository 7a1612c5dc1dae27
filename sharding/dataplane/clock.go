package dataplane

import "time"

// Clock is the time of a data plane, and its way to run things later. Any goroutine may use it.
type Clock interface {
	// Now is the present time.
	Now() time.Time
	// AfterFunc calls fn after d, beside its caller, unless the timer is stopped before.
	AfterFunc(d time.Duration, fn func()) Timer
}

// Timer is one call that a Clock makes later. *time.Timer is one.
type Timer interface {
	// Stop takes the call back. It reports whether that was still possible.
	Stop() bool
	// Reset has the call made after d, again if it was made before.
	Reset(d time.Duration) bool
}

// WallClock is the clock of the process.
type WallClock struct{}

var _ Clock = WallClock{}

// Now implements Clock.
func (WallClock) Now() time.Time { return time.Now() }

// AfterFunc implements Clock.
func (WallClock) AfterFunc(d time.Duration, fn func()) Timer { return time.AfterFunc(d, fn) }
