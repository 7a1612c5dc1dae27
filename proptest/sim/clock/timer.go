package clock

import "time"

// Timer is the one timer that a driver arms for its machine.
type Timer struct {
	fire func()
	due  time.Time // zero: it is not armed
	gen  uint64    // of the last Arm
}

// NewTimer returns a timer that calls fire. It is not armed.
func NewTimer(fire func()) *Timer { return &Timer{fire: fire} }

// Arm sets the timer, or clears it when the deadline is zero. It returns what must happen once, at the deadline, and
// does nothing if a later Arm has taken its place; nil: nothing has changed or nothing is due.
func (t *Timer) Arm(deadline time.Time) (happens func()) {
	if deadline.Equal(t.due) && t.due.IsZero() == deadline.IsZero() {
		return nil
	}
	t.due = deadline
	t.gen++
	if deadline.IsZero() {
		return nil
	}
	gen := t.gen
	return func() {
		if t.gen == gen {
			t.due = time.Time{}
			t.fire()
		}
	}
}
