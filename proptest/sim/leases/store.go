package leases

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

// Holder is a process, as the store sees it.
type Holder interface {
	fmt.Stringer
	Slot() int
	Alive() bool
	// Behind reports whether the process stands still, or has yet to work off what happened then.
	Behind() bool
	// Time reads its clock.
	Time() time.Time
	// Wait has a routine of the process wait, and returns the error of ctx if that ends first.
	Wait(ctx context.Context, d time.Duration) error
	// Enter runs something in the process.
	Enter(run func())
}

// World is where the holders live.
type World interface {
	Now() int64
	// After has something happen to a holder, or to none, in a while.
	After(d time.Duration, owner Holder, run func())
	// Healed reports whether nothing breaks any more.
	Healed() bool
	String() string
}

// Store is where the leases of shards and coordinators lie. With a time to live a process has a
// session in it that ends when it is not renewed, because the process stands still or does not
// reach the store. Without one, holds last as long as their process.
type Store struct {
	w        World
	rng      *rand.Rand
	trace    *trace.Trace
	ttl      time.Duration       // of sessions; 0: they last as long as their process
	holds    map[string]*hold    // only looked up
	names    []string            // in order of first use
	sessions map[Holder]*session // the present ones; only looked up
	down     bool                // no process reaches it
	cut      uint64              // slots that do not
	rests    bool                // nothing happens to it
	counts   Counts
}

// Counts are the leases that were taken, and those of them that were lost.
type Counts struct{ Leased, Lost uint64 }

// hold is what the store has of a holder.
type hold struct {
	p       Holder // nil: somebody outside
	session *session
	term    *term // nil: the holder has closed the door, or does not know
}

// New is a store that gives no trouble.
func New(ttl time.Duration, w World, rng *rand.Rand, t *trace.Trace) *Store {
	return &Store{w: w, rng: rng, trace: t, ttl: ttl, holds: map[string]*hold{}, sessions: map[Holder]*session{}}
}

// Counts are what has happened so far.
func (s *Store) Counts() Counts { return s.counts }

// GiveTrouble has something happen to the store from time to time, until the world heals.
func (s *Store) GiveTrouble() { s.w.After(s.while(), nil, s.trouble) }

func (s *Store) while() time.Duration {
	return time.Duration(random.Between(s.rng, int64(time.Second), int64(12*time.Second)))
}

// trouble has somebody outside take leases away, or keeps some nodes or all from the store for a
// while, until the world heals.
func (s *Store) trouble() {
	s.down, s.cut = false, 0
	if s.w.Healed() {
		return
	}
	what := s.rng.IntN(6)
	if s.rests {
		what = 5
	}
	switch what {
	case 0, 1:
		s.takeOne()
	case 2:
		for range 1 + s.rng.IntN(8) {
			s.takeOne()
		}
	case 3:
		s.down = true
	case 4:
		s.cut = s.rng.Uint64()
	}
	s.trace.Fault(s.w, "CHAOS lease store: down=%v cut=%x", s.down, s.cut)
	s.w.After(s.while(), nil, s.trouble)
}

// Heal lets everybody use the store now.
func (s *Store) Heal() { s.down, s.cut = false, 0 }

// Rest lets everybody use the store until there may be trouble again.
func (s *Store) Rest() { s.down, s.cut, s.rests = false, 0, true }

// Resume ends a rest.
func (s *Store) Resume() { s.rests = false }

// takeOne gives a lease to some outsider for a while, if need be by taking it from its holder,
// which knows at that moment.
func (s *Store) takeOne() {
	if len(s.names) == 0 {
		return
	}
	name := s.names[s.rng.IntN(len(s.names))]
	if h := s.holds[name]; h != nil {
		if h.term == nil || !h.p.Alive() || h.p.Behind() {
			return
		}
		s.trace.Fault(h.p, "CHAOS takes the lease of %v", name)
		h.term.lose("it was taken away")
	}
	outside := &hold{}
	s.holds[name] = outside
	s.w.After(time.Duration(random.Between(s.rng, 0, int64(8*time.Second))), nil, func() { s.free(name, outside) })
}

// free ends a hold.
func (s *Store) free(name string, h *hold) {
	if s.holds[name] == h {
		delete(s.holds, name)
	}
}

// reaches reports whether a process gets through to the store.
func (s *Store) reaches(p Holder) bool {
	return p.Alive() && !s.down && s.cut>>p.Slot()&1 == 0
}

// holder is the process that holds a lease now; nil: none.
func (s *Store) holder(name string) *hold {
	h := s.holds[name]
	if h != nil && h.session != nil && s.w.Now() >= h.session.expires {
		delete(s.holds, name)
		return nil
	}
	return h
}

// acquire gives the lease to a session, or says that there is another holder.
func (s *Store) acquire(name string, x *session, t *term) bool {
	if s.holder(name) != nil || s.w.Now() >= x.expires {
		return false
	}
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
	}
	s.holds[name] = &hold{p: x.p, session: x, term: t}
	s.counts.Leased++
	return true
}

// HeldBy reports whether a process is the present holder and knows, by what the store has.
func (s *Store) HeldBy(name string, p Holder) bool {
	h := s.holder(name)
	return h != nil && h.p == p && h.term != nil
}

// Ended frees what a process held that has ended, a while later; a session goes on until it runs
// out.
func (s *Store) Ended(p Holder) {
	x := s.sessions[p]
	if x == nil || s.ttl > 0 {
		return
	}
	s.w.After(time.Duration(random.Between(s.rng, 0, int64(time.Second))), nil, func() { x.expires = s.w.Now() })
}

// delay is how long a way to the store or back takes.
func (s *Store) delay() time.Duration {
	if !s.w.Healed() && s.rng.IntN(10) == 0 {
		return time.Duration(random.Between(s.rng, 0, int64(700*time.Millisecond)))
	}
	return time.Duration(random.Between(s.rng, int64(100*time.Microsecond), int64(20*time.Millisecond)))
}
