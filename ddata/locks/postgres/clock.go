package postgres

import (
	"sync"
	"time"
)

// serverClock compares the clock of the server with the monotonic one of this process. By it a
// store knows whether the server's clock was set while leases of others ran.
//
// A sample counts from the later end of its call. So bound is never later than the server's clock,
// as long as that one runs on. If it is set forward, bound does not follow: the leases of before
// end as they would have. The next sample shows the jump. From then on all is counted anew, and
// bound is of no use for leases that were granted before.
type serverClock struct {
	window    time.Duration // a reference is as old at least before another one takes its place
	tolerance time.Duration

	mu     sync.Mutex
	ref    sample
	known  bool          // there is a reference
	steady time.Time     // since when no jump was seen
	slow   int           // samples since the last one whose call was quick
	least  time.Duration // that one of those calls took
}

// sample is an answer of the server.
type sample struct {
	server         time.Time // some time between the other two
	sent, received time.Time
}

// driftMax is how far two clocks may drift apart, as one part of so many. Clocks are off by a tenth
// of that, and are corrected by half of it.
const driftMax = 1000

// note takes a sample. One whose call took long tells of jumps, and is no reference.
func (c *serverClock) note(s sample) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fine := c.timeLocked(s.received.Sub(s.sent))
	age := s.sent.Sub(c.ref.received)
	switch {
	case !c.known || age > 2*c.window || c.jumpedLocked(s):
		c.known = fine
		c.ref, c.steady = s, s.received
	case fine && age >= c.window:
		c.ref = s
	}
}

// timeLocked reports whether a call was quick enough for its sample to be a reference.
func (c *serverClock) timeLocked(took time.Duration) bool {
	if took <= c.tolerance {
		c.slow = 0
		return true
	}
	if c.slow == 0 || took < c.least {
		c.least = took
	}
	c.slow++
	return false
}

// blindAfter is how many calls in a row are slow before they are the rule.
const blindAfter = renewalsPerTTL

// blind reports whether there is no reference because every call takes too long, and what the
// quickest one of them took.
func (c *serverClock) blind(now time.Time) (quickest time.Duration, blind bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.least, c.slow >= blindAfter && !c.usableLocked(now)
}

// isKnown reports whether there is a reference.
func (c *serverClock) isKnown() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// usableLocked reports whether there is a reference that is not too old.
func (c *serverClock) usableLocked(now time.Time) bool {
	return c.known && now.Sub(c.ref.received) <= 2*c.window
}

// jumpedLocked reports whether a sample cannot come from a clock that has run on since the
// reference.
func (c *serverClock) jumpedLocked(s sample) bool {
	passed := s.server.Sub(c.ref.server)
	least, most := s.sent.Sub(c.ref.received), s.received.Sub(c.ref.sent)
	slack := c.tolerance + most/driftMax
	return passed > most+slack || passed < least-slack
}

// slack is how far bound may run ahead after changes of the clock that look like slow calls.
func (c *serverClock) slack() time.Duration { return 4 * c.tolerance }

// bound is a time of the server that has come at now, and for how long the clock has run on.
// Without a reference, and with one that is too old, both are of no use.
func (c *serverClock) bound(now time.Time) (server time.Time, steady time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.usableLocked(now) {
		return time.Unix(0, 0), 0
	}
	age := now.Sub(c.ref.received)
	return c.ref.server.Add(age - age/driftMax), now.Sub(c.steady)
}
