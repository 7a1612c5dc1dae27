package routine

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// timer is one call that a process makes later.
type timer struct {
	p     *Process
	fn    func()
	armed bool
	gen   uint64 // of the latest Reset; the events of earlier ones do nothing
}

// AfterFunc implements scheduler.Clock.
func (p *Process) AfterFunc(d time.Duration, fn func()) scheduler.Timer {
	t := &timer{p: p, fn: fn}
	t.Reset(d)
	return t
}

// Stop implements scheduler.Timer.
func (t *timer) Stop() bool {
	was := t.armed
	t.armed = false
	return was
}

// Reset implements scheduler.Timer.
func (t *timer) Reset(d time.Duration) bool {
	was := t.armed
	if t.p.killed {
		return was
	}
	t.armed = true
	t.gen++
	gen := t.gen
	t.p.line.After(d, func() {
		if t.armed && t.gen == gen {
			t.armed = false
			t.p.Enter(t.fn)
		}
	})
	return was
}

// Sleep has the routine at hand wait.
func (p *Process) Sleep(d time.Duration) {
	over := make(chan struct{})
	p.AfterFunc(d, func() { close(over) })
	p.Await(over, nil, nil)
}

// timedContext ends after a time of a process, or with its parent.
type timedContext struct {
	context.Context // ends with both
	parent          context.Context
	deadline        time.Time
	over            bool // its time has come
}

// WithTimeout implements scheduler.Clock.
func (p *Process) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c := &timedContext{parent: parent, deadline: p.Now().Add(d)}
	if before, ok := parent.Deadline(); ok && before.Before(c.deadline) {
		c.deadline = before
	}
	inner, cancel := context.WithCancelCause(parent)
	c.Context = inner
	t := p.AfterFunc(d, func() {
		if inner.Err() == nil {
			c.over = true
			cancel(context.DeadlineExceeded)
		}
	})
	return c, func() {
		t.Stop()
		cancel(context.Canceled)
	}
}

// Deadline implements context.Context.
func (c *timedContext) Deadline() (time.Time, bool) { return c.deadline, true }

// Err implements context.Context.
func (c *timedContext) Err() error {
	if c.over {
		return context.DeadlineExceeded
	}
	if err := c.parent.Err(); err != nil {
		return err
	}
	return c.Context.Err()
}
