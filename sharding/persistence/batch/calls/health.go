package calls

import "time"

// health is what was told about one store. Its state is
//
//	good ── a call takes long ──▶ slow ── fails ──▶ failing
//	  ▲                            │                  │
//	  └──── a call succeeds, and nothing was slow or failing for a while ◀──┘
//
// Invariant: failing counts the lanes of the store that are marked so.
type health struct {
	state    storeState
	failing  int
	lastSlow time.Time // when a call was last found to be slow
}

type storeState uint8

const (
	good storeState = iota
	slow
	failing
)

// wasSlow notes a slow call. It reports whether that is news.
func (h *health) wasSlow(now time.Time) (news bool) {
	h.lastSlow = now
	if h.state != good {
		return false
	}
	h.state = slow
	return true
}

// mark notes that a lane has failed. It reports whether that is news.
func (h *health) mark(l *lane) (news bool) {
	if !l.failing {
		l.failing = true
		h.failing++
	}
	if h.state == failing {
		return false
	}
	h.state = failing
	return true
}

// unmark notes that a lane has succeeded, or that nothing of it waits any more.
func (h *health) unmark(l *lane) {
	if l.failing {
		l.failing = false
		h.failing--
	}
}

// succeeded notes a call that has succeeded in time. It reports whether the store is back.
func (h *health) succeeded(now time.Time, slowAfter time.Duration) (news bool) {
	if h.state == good || h.failing > 0 || !h.lastSlow.IsZero() && now.Sub(h.lastSlow) < slowAfter {
		return false
	}
	h.state = good
	return true
}
