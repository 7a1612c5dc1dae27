package postgres

import (
	"testing"
	"time"
)

// at is a sample of a clock that is ahead of this process by so much, after a call that took long.
func at(start time.Time, after, ahead, took time.Duration) sample {
	received := start.Add(after)
	return sample{server: received.Add(ahead - took/2), sent: received.Add(-took), received: received}
}

// The bound follows a clock that runs on, never ahead of it, and a jump makes it of no use.
func TestServerClock(t *testing.T) {
	const ahead, took = 5 * time.Hour, 10 * time.Millisecond
	start := time.Now()
	c := &serverClock{window: 12 * time.Second, tolerance: 250 * time.Millisecond}
	if bound, steady := c.bound(start); steady != 0 || bound.After(start) {
		t.Errorf("before any sample: %v for %v", bound, steady)
	}
	demand := func(what string, after, ahead, most, wantSteady time.Duration) {
		t.Helper()
		now := start.Add(after)
		bound, steady := c.bound(now)
		if late := now.Add(ahead).Sub(bound); late < 0 || late > most || steady != wantSteady {
			t.Errorf("%s: the bound is %v behind, steady for %v", what, late, steady)
		}
	}
	for after := time.Duration(0); after <= time.Minute; after += 3 * time.Second {
		c.note(at(start, after, ahead, took))
		demand("a clock that runs on", after+time.Second, ahead, took+15*time.Millisecond, after+time.Second)
	}
	c.note(at(start, time.Minute+time.Second, ahead, 9*time.Second)) // a slow call
	demand("after a slow call", time.Minute+2*time.Second, ahead, 30*time.Millisecond, time.Minute+2*time.Second)
	for i, jump := range []time.Duration{time.Second, 0, -time.Hour} {
		after := 63*time.Second + time.Duration(i)*time.Second
		c.note(at(start, after, ahead+jump, took))
		demand("after a jump", after, ahead+jump, took, 0)
	}
	c.note(at(start, 67*time.Second, ahead, 9*time.Second)) // a jump of which a slow call tells
	if _, steady := c.bound(start.Add(68 * time.Second)); steady != 0 {
		t.Errorf("a slow call is a reference, for %v", steady)
	}
	c.note(at(start, 70*time.Second, ahead, took))
	if _, steady := c.bound(start.Add(2 * time.Minute)); steady != 0 {
		t.Errorf("what is old is of use, for %v", steady)
	}
}
