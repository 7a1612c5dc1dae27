package scheduler

import (
	"context"
	"math/rand/v2"
	"runtime"
	"time"
)

// Goroutines is the Scheduler of a process: its goroutines, its clock and its source of random
// numbers.
type Goroutines struct{}

var _ Scheduler = Goroutines{}

// Now implements Clock.
func (Goroutines) Now() time.Time { return time.Now() }

// Since implements Clock.
func (Goroutines) Since(t time.Time) time.Duration { return time.Since(t) }

// AfterFunc implements Clock.
func (Goroutines) AfterFunc(d time.Duration, fn func()) Timer { return time.AfterFunc(d, fn) }

// WithTimeout implements Clock.
func (Goroutines) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// Go implements Scheduler.
func (Goroutines) Go(fn func()) { go fn() }

// Await implements Scheduler. A select of fewer channels costs less.
func (Goroutines) Await(a, b, c <-chan struct{}) int {
	switch {
	case b == nil && c == nil:
		<-a
		return 0
	case c == nil:
		select {
		case <-a:
			return 0
		case <-b:
			return 1
		}
	}
	select {
	case <-a:
		return 0
	case <-b:
		return 1
	case <-c:
		return 2
	}
}

// Yield implements Scheduler.
func (Goroutines) Yield() { runtime.Gosched() }

// Shield implements Scheduler.
func (Goroutines) Shield(fn func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		fn()
	}()
	<-over
}

// Uint64 implements Scheduler.
func (Goroutines) Uint64() uint64 { return rand.Uint64() }
