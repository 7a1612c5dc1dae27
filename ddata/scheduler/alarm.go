package scheduler

import (
	"sync"
	"sync/atomic"
	"time"
)

// Alarm calls a function some time after it was armed. While it is armed, arming it again changes
// nothing, and costs no lock. Its methods are safe for concurrent use.
type Alarm struct {
	clock Clock
	after time.Duration
	fn    func()

	armed atomic.Bool

	mu      sync.Mutex
	stopped bool
	timer   Timer // nil: never armed
}

// NewAlarm makes an alarm that calls fn so long after it was armed. fn may arm it again.
func NewAlarm(c Clock, after time.Duration, fn func()) *Alarm {
	return &Alarm{clock: c, after: after, fn: fn}
}

// Arm has the function called, unless it is about to be, or the alarm has stopped.
func (a *Alarm) Arm() {
	if a.armed.Load() || !a.armed.CompareAndSwap(false, true) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.stopped:
	case a.timer == nil:
		a.timer = a.clock.AfterFunc(a.after, a.ring)
	default:
		a.timer.Reset(a.after)
	}
}

func (a *Alarm) ring() {
	a.armed.Store(false)
	a.fn()
}

// Stop ends the alarm: the function is not called any more, unless the call has begun.
func (a *Alarm) Stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.stopped = true
	if a.timer != nil {
		a.timer.Stop()
	}
}
