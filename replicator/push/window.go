package push

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// Window is how far a peer is with the own events of a space, and what is on its way there.
//
// Invariants: counted ≤ applied; sent is at most the own seq; bytes is the sum of flight; while
// Pending, a timer runs.
type Window struct {
	applied uint64 // own events that the peer has applied, contiguous from 1
	counted uint64 // own events that count at the peer, contiguous from 1

	from    uint64 // own events up to here were made before the peer came; gossip and repair bring them
	sent    uint64 // last own event pushed
	flight  []flight
	bytes   int       // of flight
	retryAt time.Time // when to do something about what is unacknowledged; zero: nothing is
	tries   int       // retries without progress
}

// flight is one push on its way.
type flight struct {
	last  uint64 // last own event in it
	bytes int
}

// NewWindow is for a peer that has come when the own events had reached seq.
func NewWindow(seq uint64) Window { return Window{from: seq, sent: seq} }

// Applied returns up to which own event the peer has applied all, as far as known.
func (w *Window) Applied() uint64 { return w.applied }

// Counted returns up to which own event all count at the peer, as far as known.
func (w *Window) Counted() uint64 { return w.counted }

// SetApplied notes what the peer has applied, and reports whether that is new.
func (w *Window) SetApplied(seq uint64) bool {
	is := seq != w.applied
	w.applied = seq
	return is
}

// SetCounted notes what counts at the peer.
func (w *Window) SetCounted(seq uint64) { w.counted = seq }

// Sent returns the last own event that was pushed.
func (w *Window) Sent() uint64 { return w.sent }

// Open reports whether one more push may be on its way.
func (w *Window) Open(flightMax, bytesMax int) bool {
	return len(w.flight) < flightMax && (w.bytes < bytesMax || len(w.flight) == 0)
}

// Push notes a push on its way.
func (w *Window) Push(last uint64, bytes int) {
	w.sent = last
	w.flight = append(w.flight, flight{last: last, bytes: bytes})
	w.bytes += bytes
}

// PushFlow notes a push that goes in parts: the flow is what is on its way.
func (w *Window) PushFlow(last uint64) { w.sent = last }

// Flight returns how many pushes are on their way.
func (w *Window) Flight() int { return len(w.flight) }

// Arrived ends the pushes up to an event, and reports whether there were any.
func (w *Window) Arrived(upTo uint64) (any bool) {
	for len(w.flight) > 0 && w.flight[0].last <= upTo {
		w.bytes -= w.flight[0].bytes
		w.flight = append(w.flight[:0], w.flight[1:]...)
		any = true
	}
	return any
}

// Lost forgets the pushes that were not acknowledged in time, and reports whether there were any.
func (w *Window) Lost() (any bool) {
	any = len(w.flight) > 0
	w.flight, w.bytes = w.flight[:0], 0
	return any
}

// InReach reports whether the peer is not behind what was made before it came.
func (w *Window) InReach() bool { return w.applied >= w.from }

// Pending reports whether an ack is outstanding. A peer that lacks what was made before it came can
// only send the echo. A learner, which is no voter, can only tell that it has applied the push.
func (w *Window) Pending(voter bool) bool {
	return len(w.flight) > 0 || w.InReach() && (w.applied < w.sent || voter && w.counted < w.sent)
}

// Rewind makes the next push begin after what the peer has, if something beyond that was pushed and
// groups from first on are kept. It reports whether it has.
func (w *Window) Rewind(first uint64) bool {
	back := max(w.applied, w.from)
	if back >= w.sent || first > back+1 {
		return false
	}
	w.sent = back
	return true
}

// Tries returns how many retries in a row have brought nothing.
func (w *Window) Tries() int { return w.tries }

// Try counts a retry, and returns how many there are in a row.
func (w *Window) Try() int {
	w.tries++
	return w.tries
}

// SetTries takes over the retries of a flow that carries what is waited for.
func (w *Window) SetTries(n int) { w.tries = n }

// RetryAt returns when to do something about what is unacknowledged; zero: never.
func (w *Window) RetryAt() time.Time { return w.retryAt }

// Arm sets the timer unless it runs, and reports whether it has.
func (w *Window) Arm(at time.Time) bool {
	if !w.retryAt.IsZero() {
		return false
	}
	w.retryAt = at
	return true
}

// Rest stops the timer.
func (w *Window) Rest() { w.retryAt = time.Time{} }

// Due reports whether the timer has run out, and stops it if so.
func (w *Window) Due(now time.Time) bool { return timer.Due(&w.retryAt, now) }

// Check returns a broken invariant. The own events have reached seq.
func (w *Window) Check(seq uint64, flightMax int, voter bool) error {
	switch {
	case w.counted > w.applied || w.sent > seq:
		return fmt.Errorf("applied %d, counted %d, sent %d, of own %d", w.applied, w.counted, w.sent, seq)
	case len(w.flight) > flightMax:
		return fmt.Errorf("%d pushes on their way", len(w.flight))
	case w.Pending(voter) && w.retryAt.IsZero():
		return fmt.Errorf("it owes an ack and no timer runs")
	}
	return nil
}
