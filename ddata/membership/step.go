package membership

import "time"

// step is what a Step works with: the time, the effects, and when the next one is due.
type step struct {
	clock
	fx    outbox
	stats Stats
	done  error // how the machine ended; nil = it has not
}

// end ends the machine.
func (s *step) end(err error) {
	if downed, ok := err.(*DownedError); ok {
		s.fx.event(Downed{downed.Cause})
	}
	s.done, s.fx.Done = err, err
}

// clock says when a step is, and when the next one is due.
type clock struct {
	now    time.Time // of the step in progress
	start  time.Time // of the first step; monotonic times on the wire count from it
	nextAt time.Time // when something is due
	wake   bool      // something may be due at once
}

// enter begins a step.
func (c *clock) enter(now time.Time) {
	if c.start.IsZero() {
		c.start, c.now, c.wake = now, now, true
	}
}

// isDue reports whether something is due.
func (c *clock) isDue() bool { return c.wake || !c.now.Before(c.nextAt) }

// rest begins to find out when something will be due next: after most at the latest.
func (c *clock) rest(most time.Duration) { c.wake, c.nextAt = false, c.now.Add(most) }

// dueAt takes a time into account for the next deadline.
func (c *clock) dueAt(t time.Time) {
	if !t.After(c.now) {
		t = c.now.Add(time.Millisecond)
	}
	if t.Before(c.nextAt) {
		c.nextAt = t
	}
}

// goOn takes over what a call of another package asks for: that something is done at once, or at
// due; zero = no matter.
func (c *clock) goOn(wake bool, due time.Time) {
	c.wake = c.wake || wake
	if !due.IsZero() {
		c.dueAt(due)
	}
}

// wakeIf has the machine look again at once, if something is news.
func (c *clock) wakeIf(news bool) { c.wake = c.wake || news }

// pause lets something happen once in a while. The zero pause is over.
type pause struct{ until time.Time }

// begin begins a pause.
func (p *pause) begin(now time.Time, d time.Duration) { p.until = now.Add(d) }

// over reports whether the pause is over, and then begins the next one.
func (p *pause) over(now time.Time, d time.Duration) bool {
	if now.Before(p.until) {
		return false
	}
	p.begin(now, d)
	return true
}
