package leases

import (
	"slices"
	"time"
)

// session is what keeps the holds of a process. The process counts its time from before each
// renewal, the store from after, and by a clock that may go faster.
type session struct {
	s       *Store
	p       Holder
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

// expiresNever is when a session ends that lasts as long as its process.
const expiresNever = int64(1) << 62

// openSession is the present session of a process, or a new one.
func (s *Store) openSession(p Holder) *session {
	if x := s.sessions[p]; x != nil && !x.over && x.open() {
		return x
	}
	x := &session{s: s, p: p, expires: expiresNever}
	s.sessions[p] = x
	if s.ttl > 0 {
		x.until, x.expires = p.Time().Add(s.ttl), s.w.Now()+int64(s.ttl+s.ttl/16)
		s.w.After(s.ttl/3, p, x.renew)
	}
	return x
}

// open reports whether the session lasts at this moment, by the process's clock. One that is over
// loses all its terms.
func (x *session) open() bool {
	if !x.over && (x.until.IsZero() || before(x.p.Time(), x.until)) {
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
	s, p, ttl := x.s, x.p, x.s.ttl
	if s.sessions[p] != x || !x.open() {
		return
	}
	sent := p.Time()
	s.w.After(s.delay(), nil, func() {
		if !s.reaches(p) || s.w.Now() >= x.expires {
			return
		}
		x.expires = s.w.Now() + int64(ttl+ttl/16)
		s.w.After(s.delay(), p, func() {
			if x.open() {
				x.until = sent.Add(ttl)
			}
		})
	})
	s.w.After(ttl/3, p, x.renew)
}

// open reports whether the hold lasts at this moment.
func (t *term) open() bool { return t != nil && !t.closed && t.session.open() }

// lose closes the term, and says a moment later that it was lost, unless it is closed.
func (t *term) lose(text string) {
	if !t.closed {
		t.closed = true
		s, p := t.session.s, t.session.p
		s.counts.Lost++
		s.w.After(s.delay(), p, func() { t.onLost(text) })
	}
}

func (t *term) close() {
	if t != nil {
		t.closed = true
	}
}
