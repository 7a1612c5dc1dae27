package clock

import (
	"testing"
	"time"
)

// TestInstant holds time.Time to the layout that instant assumes.
func TestInstant(t *testing.T) {
	wall, mono := epochWall+123, int64(5e9)
	a := instant(wall, mono)
	if a.UnixNano() != wall || monotonic(a) != mono {
		t.Fatalf("%v: wall %d, mono %d", a, a.UnixNano(), monotonic(a))
	}
	b := instant(wall-int64(time.Hour), mono+7)
	if b.Sub(a) != 7 || !a.Before(b) || b.UnixNano() >= a.UnixNano() {
		t.Errorf("sub %v, before %v", b.Sub(a), a.Before(b))
	}
	if c := a.Add(time.Minute); monotonic(c) != mono+int64(time.Minute) || c.UnixNano() != wall+int64(time.Minute) ||
		c.Sub(a) != time.Minute {
		t.Errorf("add: %v", c)
	}
}

// TestWhen: When is the inverse of mono, whatever the rate.
func TestWhen(t *testing.T) {
	for _, rate := range []float64{0.99, 1, 1.01} {
		c := Clock{rate: rate, offset: 77, suspended: 1e9}
		for _, ahead := range []time.Duration{1, time.Millisecond, time.Hour} {
			at := c.When(c.Read(5e9).Add(ahead))
			if at < 5e9 || c.mono(at) < c.mono(5e9)+int64(ahead) || c.mono(at-2) >= c.mono(5e9)+int64(ahead)+2 {
				t.Errorf("rate %v, ahead %v: %d", rate, ahead, at)
			}
		}
	}
}

// TestSuspend: while a machine is suspended only its wall clock goes on.
func TestSuspend(t *testing.T) {
	c := Clock{rate: 1, offset: 5}
	before := c.Read(1000)
	c.Suspend(1000)
	if after := c.Read(2000); after.Sub(before) != 0 || after.UnixNano()-before.UnixNano() != 1000 {
		t.Errorf("%v is shown after %v", after, before)
	}
	c.Jump(-50)
	if now := c.Read(2000); now.UnixNano()-before.UnixNano() != 950 || now.Sub(before) != 0 {
		t.Errorf("%v is shown after a jump", now)
	}
}

// TestTimer: only the latest Arm fires, once, and the timer can be armed again from there.
func TestTimer(t *testing.T) {
	fired := 0
	timer := NewTimer(func() { fired++ })
	at := func(d time.Duration) time.Time { return instant(epochWall, int64(d)) }
	first := timer.Arm(at(1))
	if timer.Arm(at(1)) != nil {
		t.Error("it is armed twice for one deadline")
	}
	second := timer.Arm(at(2))
	if first(); fired != 0 {
		t.Error("it fires for an earlier deadline")
	}
	third := timer.Arm(at(3))
	if second(); fired != 0 {
		t.Error("it fires for an earlier deadline")
	}
	if third(); fired != 1 {
		t.Errorf("it has fired %d times", fired)
	}
	fourth := timer.Arm(at(3)) // the same deadline, after it has fired
	if timer.Arm(time.Time{}) != nil {
		t.Error("something is to happen for no deadline")
	}
	if fourth(); fired != 1 {
		t.Error("it fires after it was cleared")
	}
}
