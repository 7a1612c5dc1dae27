package membership

import "time"

// clock says when a step is, and when the next one is due.
type clock struct {
	now    time.Time // of the step in progress
	start  time.Time // of the first step; monotonic times on the wire count from it
	nextAt time.Time // when something is due
	wake   bool      // something may be due at once
	beatAt time.Time // when heartbeats are due
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

// tell sends heartbeats at once: what this node says of itself has changed.
func (c *clock) tell() { c.beatAt, c.wake = c.now, true }

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

// countAwake keeps the time during which this process stood still out of what it gives up after: a
// step that comes long after its deadline shows that nothing ran here, and while nothing ran this
// node could neither hear the others nor ask them. A cluster whose nodes are all stopped together
// for long goes on when they are woken.
//
// It concerns patience alone. What others rely on, leases and promises, ends by the clocks, whether
// the process runs or not.
func (m *Machine) countAwake(now time.Time) {
	gap := now.Sub(m.nextAt)
	if gap < m.cfg.HeartbeatInterval {
		return // a busy machine: if it is always this late, it shall give up all the same
	}
	m.holder.Awake(gap)
	m.parting.Awake(gap)
	if m.view == nil {
		m.seeker.Awake(gap)
	}
}
