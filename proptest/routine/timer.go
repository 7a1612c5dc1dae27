package routine

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/ddata/scheduler"
)

// timer is one call that a process makes later.
type timer struct {
	p      *Process
	fn     func() // nil: sleeps waits until then
	sleeps *routine
	armed  bool
	gen    uint64 // of the latest Reset; the events of earlier ones do nothing
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
	t.p.alarm(t, t.p.Now().Add(max(0, d)))
	return was
}

// alarm is the event of one Reset. Its memory is used again for another one when it has happened.
type alarm struct {
	t     *timer
	gen   uint64
	due   time.Time
	rings func() // ring
}

// alarm makes the event of the latest Reset of a timer.
func (p *Process) alarm(t *timer, due time.Time) {
	var a *alarm
	if last := len(p.rung) - 1; last >= 0 {
		a, p.rung = p.rung[last], p.rung[:last]
	} else {
		a = &alarm{}
		a.rings = a.ring
	}
	a.t, a.gen, a.due = t, t.gen, due
	p.events().At(due, a.rings)
}

func (a *alarm) ring() {
	t, p := a.t, a.t.p
	if p.Now().Before(a.due) { // the clock stood still
		p.events().At(a.due, a.rings)
		return
	}
	a.t = nil
	p.rung = append(p.rung, a)
	if !t.armed || t.gen != a.gen {
		return
	}
	if t.armed = false; t.fn != nil {
		p.Enter(t.fn)
	} else if !p.killed {
		p.look(t.sleeps)
	}
}

// Sleep has the routine at hand wait.
func (p *Process) Sleep(d time.Duration) {
	r := p.running
	if r.sleep.p == nil {
		r.sleep = timer{p: p, sleeps: r}
	}
	if r.sleep.Reset(d); !p.killed {
		p.waits++
		r.waits = p.waits
	}
	r.wait()
}

// timedContext ends after a time of a process, or with its parent.
type timedContext struct {
	context.Context // ends with both
	parent          context.Context
	deadline        time.Time
	over            bool // its time has come
	timer           timer
	cancel          context.CancelCauseFunc
}

// WithTimeout implements scheduler.Clock.
func (p *Process) WithTimeout(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	c := &timedContext{parent: parent, deadline: p.Now().Add(d)}
	if before, ok := parent.Deadline(); ok && before.Before(c.deadline) {
		c.deadline = before
	}
	c.Context, c.cancel = context.WithCancelCause(parent)
	c.timer = timer{p: p, fn: c.expire}
	c.timer.Reset(d)
	return c, c.release
}

// expire ends the context because its time has come.
func (c *timedContext) expire() {
	if c.Context.Err() == nil {
		c.over = true
		c.cancel(context.DeadlineExceeded)
	}
}

// release is the CancelFunc.
func (c *timedContext) release() {
	c.timer.Stop()
	c.cancel(context.Canceled)
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
