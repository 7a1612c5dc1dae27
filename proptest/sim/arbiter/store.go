package arbiter

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// Holder is a process, as the store sees it.
type Holder interface {
	fmt.Stringer
	Alive() bool
	// Behind reports whether the process stands still, or has yet to work off what happened then.
	Behind() bool
	// Arbitrated has its membership take what the store answers, or has done.
	Arbitrated(membership.Input)
}

// World is where the holders live.
type World interface {
	Now() int64
	// At has something happen to a holder, or to none, at a true time.
	At(t int64, owner Holder, run func())
	// Healed reports whether nothing breaks any more.
	Healed() bool
}

// Store is where the lease lies.
type Store struct {
	w      World
	rng    *rand.Rand
	trace  *trace.Trace
	min    time.Duration // an operation takes from min to max
	max    time.Duration
	holder Holder // nil or dead: none
	record []byte
	down   bool             // nothing can be asked of it
	free   map[Holder]int64 // when the last operation of a holder is over; only looked up
}

// New is a store that gives no trouble. An operation takes from least to most.
func New(least, most time.Duration, w World, rng *rand.Rand, t *trace.Trace) *Store {
	return &Store{w: w, rng: rng, trace: t, min: least, max: most, free: map[Holder]int64{}}
}

// GiveTrouble has something happen to the store from time to time, until the world heals.
func (s *Store) GiveTrouble() { s.w.At(s.w.Now()+s.while(), nil, s.trouble) }

func (s *Store) while() int64 {
	return random.Between(s.rng, int64(time.Second), int64(40*time.Second))
}

// trouble takes the lease away from a holder, which is told first, or refuses it to all for a
// while, until the world heals.
func (s *Store) trouble() {
	s.down = false
	if s.w.Healed() {
		return
	}
	if h := s.holder; s.rng.IntN(2) == 0 && h != nil && h.Alive() && !h.Behind() {
		s.trace.Fault(h, "CHAOS takes the arbiter's lease")
		h.Arbitrated(membership.ArbiterLost{Err: "taken away"})
		s.holder = nil
	} else {
		s.down = s.rng.IntN(2) == 0
	}
	s.GiveTrouble()
}

// Arbitrate carries out the operations of a holder one after the other.
func (s *Store) Arbitrate(h Holder, op arbitration.Op) {
	at := max(s.free[h], s.w.Now()) + random.Between(s.rng, int64(s.min), int64(s.max))
	s.free[h] = at
	s.w.At(at, h, func() {
		if h.Alive() {
			s.carryOut(h, op)
		}
	})
}

func (s *Store) carryOut(h Holder, op arbitration.Op) {
	held := s.holder != nil && s.holder.Alive()
	switch {
	case op.Do == arbitration.Release:
		if s.holder == h {
			s.holder = nil
		}
	case op.Do == arbitration.Save && (s.down || s.holder != h):
		if s.holder == h && s.rng.IntN(2) == 0 { // a process that hears of a failure cannot know
			s.record = op.Record
		}
		h.Arbitrated(membership.ArbiterSaved{Err: "the store is down"})
	case op.Do == arbitration.Save:
		s.record = op.Record
		h.Arbitrated(membership.ArbiterSaved{})
	case s.down:
		h.Arbitrated(membership.ArbiterDenied{Err: "the store is down"})
	case held && s.holder != h:
		h.Arbitrated(membership.ArbiterDenied{})
	default:
		s.holder = h
		h.Arbitrated(membership.ArbiterAcquired{Record: s.record, Until: locks.Forever})
	}
}
