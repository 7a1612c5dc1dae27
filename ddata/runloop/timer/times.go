package timer

import "time"

// Earliest returns the earliest of some times, of which a zero one means never.
func Earliest(times ...time.Time) time.Time {
	var next Next
	for _, t := range times {
		next.DueAt(t)
	}
	return next.Due
}

// Latest returns the later of two times. A zero one is before all others.
func Latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Due reports whether a time has come, and clears it.
func Due(at *time.Time, now time.Time) bool {
	if at.IsZero() || now.Before(*at) {
		return false
	}
	*at = time.Time{}
	return true
}

// Next says when there is something to do again at the latest.
type Next struct {
	Due time.Time // zero: nothing is due
}

// DueAt takes a time into account.
func (n *Next) DueAt(t time.Time) {
	if !t.IsZero() {
		n.sooner(t)
	}
}

// sooner is DueAt of a time. It is not inlined, so that DueAt is: most times mean never.
//
//go:noinline
func (n *Next) sooner(t time.Time) {
	if n.Due.IsZero() || t.Before(n.Due) {
		n.Due = t
	}
}
