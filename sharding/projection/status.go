package projection

import (
	"context"
	"sync"
	"time"
)

// Phase is what a part does on its node.
type Phase uint8

// The phases of a part.
const (
	Claiming Phase = iota // it asks where it goes on
	Running               // it reads, or waits for events
	Failing               // it has failed, and rests before it begins again
	Paused                // the projection is paused
	Ended                 // its worker has ended here
)

// String is a word for it.
func (p Phase) String() string {
	return [...]string{"claiming", "running", "failing", "paused", "ended"}[p]
}

// PartStatus is what a node knows of a part that it has.
type PartStatus struct {
	Part     int
	Phase    Phase
	Progress Progress      // of what was handled here; it may not be saved yet
	Failure  *Failure      // the last one; nil: none since the offset was saved
	Lag      time.Duration // the age of the oldest event that was read and is not handled; 0: there is none
	Handling time.Duration // how long the handler has been at work with one event; 0: it is not
}

// shown is what others see of a lane, from any goroutine.
type shown struct {
	mu      sync.Mutex
	status  PartStatus
	claim   uint64             // of the round; 0: none yet
	stop    context.CancelFunc // ends the round
	front   func() time.Time   // of the queue; nil: there is none
	oldest  time.Time          // of the batch at hand
	started time.Time          // of the handler's work; zero: it does not work
}

func (s *shown) begin(stop context.CancelFunc) {
	s.change(func() { s.status.Phase, s.claim, s.stop, s.front, s.oldest = Claiming, 0, stop, nil, time.Time{} })
}

func (s *shown) run(c Claim, at Progress) {
	s.change(func() { s.status.Phase, s.claim, s.status.Progress = Running, c.Number, at })
}

func (s *shown) reads(front func() time.Time) { s.change(func() { s.front = front }) }

func (s *shown) become(p Phase, f *Failure) {
	s.change(func() {
		s.status.Phase, s.claim, s.front, s.oldest = p, 0, nil, time.Time{}
		if f != nil {
			s.status.Failure = f
		}
	})
}

// working notes when the oldest event of the batch at hand was written.
func (s *shown) working(at time.Time) { s.change(func() { s.oldest = at }) }

func (s *shown) handling(since time.Time) { s.change(func() { s.started = since }) }

func (s *shown) progressed(p Progress) { s.change(func() { s.status.Progress = p }) }

func (s *shown) saved() { s.change(func() { s.status.Failure = nil }) }

func (s *shown) change(fn func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fn()
}

// look returns the status at a time.
func (s *shown) look(now time.Time) PartStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	out, oldest := s.status, s.oldest
	if oldest.IsZero() && s.front != nil {
		oldest = s.front()
	}
	if !oldest.IsZero() {
		out.Lag = max(now.Sub(oldest), 1)
	}
	if !s.started.IsZero() {
		out.Handling = max(now.Sub(s.started), 1)
	}
	return out
}

// interrupt ends the round if what is stored is ahead of it: a pause, a reset or another claim.
func (s *shown) interrupt(paused bool, claim uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status.Phase == Running && (paused || claim > s.claim) {
		s.stop()
	}
}
