package clock

import "time"

// Timer is the one timer that a driver arms for its machine.
type Timer struct {
	fire func()
	due  time.Time // zero: it is not armed
	gen  uint64    // of the last Arm
	rung []*ring   // that are used again
}

// ring is the event of one Arm. It does nothing if a later Arm has taken its place.
type ring struct {
	t       *Timer
	gen     uint64
	happens func() // happen
}

// NewTimer returns a timer that calls fire. It is not armed.
func NewTimer(fire func()) *Timer { return &Timer{fire: fire} }

// Arm sets the timer, or clears it when the deadline is zero. It returns what must happen once, at the deadline; nil:
// nothing, because nothing has changed or nothing is due.
func (t *Timer) Arm(deadline time.Time) (happens func()) {
	if deadline.Equal(t.due) && t.due.IsZero() == deadline.IsZero() {
		return nil
	}
	t.due = deadline
	t.gen++
	if deadline.IsZero() {
		return nil
	}
	var r *ring
	if last := len(t.rung) - 1; last >= 0 {
		r, t.rung = t.rung[last], t.rung[:last]
	} else {
		r = &ring{t: t}
		r.happens = r.happen
	}
	r.gen = t.gen
	return r.happens
}

func (r *ring) happen() {
	t := r.t
	t.rung = append(t.rung, r)
	if r.gen == t.gen {
		t.due = time.Time{}
		t.fire()
	}
}
