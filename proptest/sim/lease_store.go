package sim

import (
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// leaseStore is where the leases of shards and coordinators lie, outside of the cluster, and keeps
// the laws of ddata/locks.Lock: a holder is past its Until, or dead, before there is another
// holder. With Options.LeaseTTL a process has a session in it that ends when it is not renewed,
// because the process stands still or does not reach the store; without, holds last as long as
// their process.
type leaseStore struct {
	w     *World
	rng   *rand.Rand
	holds map[string]*hold // only looked up
	names []string         // in order of first use
	down  bool             // no process reaches it
	cut   uint64           // slots that do not
	rests bool             // nothing happens to it
}

// hold is what the store has of a holder.
type hold struct {
	p       *Process // nil: somebody outside
	session *session
	term    *term // nil: the holder has closed the door, or does not know
}

// session is what keeps the holds of a process. The process counts its time from before each
// renewal, the store from after, and by a clock that may go faster.
type session struct {
	p       *Process
	until   time.Time // on the process's clock
	expires int64     // for the store
	over    bool      // the process has noticed that it is, or may be
	terms   []*term
}

// term is one hold as its process sees it. It closes once and never opens again.
type term struct {
	session *session
	closed  bool
	onLost  func(text string)
}

func newLeaseStore(w *World) *leaseStore {
	s := &leaseStore{w: w, rng: w.rs.Stream("lease store", 0), holds: map[string]*hold{}}
	if w.opt.leases() {
		w.after(s.while(), nil, s.trouble)
	}
	return s
}

func (s *leaseStore) while() time.Duration {
	return time.Duration(random.Between(s.rng, int64(time.Second), int64(12*time.Second)))
}

// trouble has somebody outside take leases away, or keeps some nodes or all from the store for a
// while, until the world heals.
func (s *leaseStore) trouble() {
	s.down, s.cut = false, 0
	if s.w.healed {
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
	s.w.trace.Line(s.w, "CHAOS lease store: down=%v cut=%x", s.down, s.cut)
	s.w.after(s.while(), nil, s.trouble)
}

// rest lets everybody use the store, for as long as it is not ended.
func (s *leaseStore) rest() { s.down, s.cut, s.rests = false, 0, true }

// takeOne gives a lease to some outsider for a while, if need be by taking it from its holder,
// which knows at that moment.
func (s *leaseStore) takeOne() {
	if len(s.names) == 0 {
		return
	}
	name := s.names[s.rng.IntN(len(s.names))]
	if h := s.holds[name]; h != nil {
		if h.term == nil || !h.p.alive || h.p.behind {
			return
		}
		s.w.trace.Line(h.p, "CHAOS takes the lease of %v", name)
		h.term.lose("it was taken away")
	}
	outside := &hold{}
	s.holds[name] = outside
	s.w.after(time.Duration(random.Between(s.rng, 0, int64(8*time.Second))), nil, func() { s.free(name, outside) })
}

// free ends a hold.
func (s *leaseStore) free(name string, h *hold) {
	if s.holds[name] == h {
		delete(s.holds, name)
	}
}

// reaches reports whether a process gets through to the store.
func (s *leaseStore) reaches(p *Process) bool {
	return p.alive && !s.down && s.cut>>p.slot.index&1 == 0
}

// holder is the process that holds a lease now; nil: none.
func (s *leaseStore) holder(name string) *hold {
	h := s.holds[name]
	if h != nil && h.session != nil && s.w.now >= h.session.expires {
		delete(s.holds, name)
		return nil
	}
	return h
}

// acquire gives the lease to a session, or says that there is another holder.
func (s *leaseStore) acquire(name string, x *session, t *term) bool {
	if s.holder(name) != nil || s.w.now >= x.expires {
		return false
	}
	if !s.known(name) {
		s.names = append(s.names, name)
	}
	s.holds[name] = &hold{p: x.p, session: x, term: t}
	s.w.counts.Leased++
	return true
}

func (s *leaseStore) known(name string) bool {
	for _, n := range s.names {
		if n == name {
			return true
		}
	}
	return false
}

// heldBy reports whether a process is the present holder and knows, by what the store has.
func (s *leaseStore) heldBy(name string, p *Process) bool {
	h := s.holder(name)
	return h != nil && h.p == p && h.term != nil
}

// ended frees what a process held that has ended, a while later; a session goes on until it runs
// out.
func (s *leaseStore) ended(p *Process) {
	x := p.session
	if x == nil || s.w.opt.LeaseTTL > 0 {
		return
	}
	s.w.after(time.Duration(random.Between(s.rng, 0, int64(time.Second))), nil, func() { x.expires = s.w.now })
}

// expiresNever is when a session ends that lasts as long as its process.
const expiresNever = int64(1) << 62

// openSession is the present session of a process, or a new one.
func (p *Process) openSession() *session {
	if p.session != nil && !p.session.over && p.session.open() {
		return p.session
	}
	p.session = &session{p: p, expires: expiresNever}
	if ttl := p.w.opt.LeaseTTL; ttl > 0 {
		x := p.session
		x.until, x.expires = p.time().Add(ttl), p.w.now+int64(ttl+ttl/16)
		p.w.after(ttl/3, p, x.renew)
	}
	return p.session
}

// open reports whether the session lasts at this moment, by the process's clock. One that is over
// loses all its terms.
func (x *session) open() bool {
	if !x.over && (x.until.IsZero() || before(x.p.time(), x.until)) {
		return true
	}
	x.end()
	return false
}

// before reports whether neither of a machine's clocks has come to t: while it is suspended, the
// monotonic one stands still.
func before(now, t time.Time) bool { return now.Before(t) && now.UnixNano() < t.UnixNano() }

// keep notes a hold that the process knows of.
func (x *session) keep(t *term) {
	x.terms = append(slices.DeleteFunc(x.terms, func(t *term) bool { return t.closed }), t)
}

func (x *session) end() {
	x.over = true
	terms := x.terms
	x.terms = nil
	for _, t := range terms {
		t.lose("its time has passed")
	}
}

// renew prolongs the session if the store can be reached and has not given it up; the answer takes
// its time.
func (x *session) renew() {
	p, w := x.p, x.p.w
	if p.session != x || !x.open() {
		return
	}
	sent, ttl := p.time(), w.opt.LeaseTTL
	w.after(w.leases.delay(), nil, func() {
		if !w.leases.reaches(p) || w.now >= x.expires {
			return
		}
		x.expires = w.now + int64(ttl+ttl/16)
		w.after(w.leases.delay(), p, func() {
			if x.open() {
				x.until = sent.Add(ttl)
			}
		})
	})
	w.after(ttl/3, p, x.renew)
}

// delay is how long a way to the store or back takes.
func (s *leaseStore) delay() time.Duration {
	if !s.w.healed && s.rng.IntN(10) == 0 {
		return time.Duration(random.Between(s.rng, 0, int64(700*time.Millisecond)))
	}
	return time.Duration(random.Between(s.rng, int64(100*time.Microsecond), int64(20*time.Millisecond)))
}

// open reports whether the hold lasts at this moment.
func (t *term) open() bool { return t != nil && !t.closed && t.session.open() }

// lose closes the term, and says a moment later that it was lost, unless it is closed.
func (t *term) lose(text string) {
	if !t.closed {
		t.closed = true
		p := t.session.p
		p.w.counts.LeasesLost++
		p.w.after(p.w.leases.delay(), p, func() { t.onLost(text) })
	}
}

func (t *term) close() {
	if t != nil {
		t.closed = true
	}
}
