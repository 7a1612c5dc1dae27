package journals

import (
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// Faults say how often the store misbehaves until the world heals. A number is a part of the calls,
// if nothing else is said.
type Faults struct {
	Fails    float64 // fail before they take effect
	Loses    float64 // take effect, and are answered with an error
	Halves   float64 // of several writes or reads take effect in part, and are answered so
	Hangs    float64 // are not answered; half of them take effect, and of these half do so late
	Deaf     float64 // are answered long after their context has ended, if at all
	Freezes  float64 // have their process stand still: as they leave, or arrive, or took effect
	InWrites bool    // only as events leave, or arrive, or were stored for a hosting
	Damages  float64 // part of the snapshots that are damaged or lost
	Cautious bool    // events are deleted: one snapshot of an entity at a time is spoilt
	Outages  bool    // the store is gone now and then
	Delay    time.Duration
}

// How long things take at most.
const (
	lateMost   = 40 * time.Second // until a call that was given up takes effect
	DeafMost   = 25 * time.Second // until the end of a call that does not end with its context
	freezeMost = 30 * time.Second
	spoilMost  = 15 * time.Second // after a snapshot was stored
)

// fate is what happens to one call.
type fate struct {
	there, back time.Duration
	fails       bool
	loses       bool
	halves      bool
	silent      bool // no answer comes
	never       bool // nor an effect
	deaf        bool
	stills      Moment
	held        bool // until another process has taken over, as Store.Still wants it
}

// Moment is when the process of a call stands still.
type Moment uint8

const (
	never    Moment = iota
	Leaving         // the call leaves the process when that goes on
	Arriving        // it is about to take effect
	Stored          // it has taken effect
)

func (m Moment) String() string {
	return [...]string{"never in", "before", "after the arrival of", "behind the effect of"}[m]
}

// draw decides about a call.
func (s *Store) draw() fate {
	r, f := s.rng, s.faults
	way := func() time.Duration {
		return time.Duration(random.Between(r, int64(20*time.Microsecond), int64(f.Delay)))
	}
	x := fate{there: way(), back: way()}
	if s.w.Healed() {
		return x
	}
	upTo := func(most time.Duration) time.Duration { return time.Duration(random.Between(r, 0, int64(most))) }
	switch n := r.Float64(); {
	case n < f.Fails:
		x.fails = true
	case n < f.Fails+f.Loses:
		x.loses = true
	case n < f.Fails+f.Loses+f.Halves:
		x.halves = true
	case n < f.Fails+f.Loses+f.Halves+f.Hangs:
		x.silent = true
		switch r.IntN(4) {
		case 0, 1:
			x.never = true
		case 2:
			x.there = upTo(lateMost)
		}
	case n < f.Fails+f.Loses+f.Halves+f.Hangs+f.Deaf:
		x.deaf, x.loses = true, r.IntN(2) == 0
		if x.there = upTo(DeafMost); r.IntN(2) == 0 {
			x.there, x.back = way(), upTo(DeafMost)
		}
	}
	if random.Chance(r, f.Freezes) {
		x.stills = random.Pick(r, Leaving, Leaving, Arriving, Stored)
	}
	return x
}
