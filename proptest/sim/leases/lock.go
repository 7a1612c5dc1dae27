package leases

import (
	"context"
	"errors"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// locksOf is the store as one process uses it.
type locksOf struct {
	s       *Store
	p       Holder
	ignores func(name string) bool
}

// Of is the store as a process uses it. A lease that the process ignores runs, as far as it looks,
// until it is told that it is lost; nil: it ignores none.
func (s *Store) Of(p Holder, ignores func(name string) bool) locks.Store {
	return locksOf{s, p, ignores}
}

// lock is the door of a process to one lease.
type lock struct {
	locksOf
	name string
	term *term // the present hold; nil: there is none, as far as the process knows
}

var (
	_ locks.Store = locksOf{}
	_ locks.Lock  = (*lock)(nil)
)

// patience is how long one call of the store takes at most.
const patience = 5 * time.Second

var (
	errUnreached = errors.New("the store cannot be reached")
	errTooLate   = errors.New("its time has passed")
)

// ID implements locks.Store.
func (locksOf) ID() string { return "sim" }

// Lock implements locks.Store.
func (o locksOf) Lock(name, _ string) (locks.Lock, error) { return &lock{locksOf: o, name: name}, nil }

// Acquire implements locks.Lock.
func (l *lock) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	s, p := l.s, l.p
	x := s.openSession(p)
	t := &term{session: x}
	t.onLost = func(text string) { p.Enter(func() { lost(errors.New(text)) }) }
	if err := p.Wait(ctx, s.delay()); err != nil {
		return false, err
	}
	if !s.reaches(p) {
		return false, errors.Join(errUnreached, p.Wait(ctx, l.silence()))
	}
	got := s.acquire(l.name, x, t)
	if got {
		l.term = t
	}
	if !s.w.Healed() && s.rng.IntN(30) == 0 {
		return false, errors.Join(errUnreached, p.Wait(ctx, l.silence()))
	}
	if err := p.Wait(ctx, s.delay()); err != nil {
		return false, err
	}
	switch {
	case !got:
		return false, nil
	case !t.open():
		return false, errTooLate
	}
	x.keep(t)
	return true, nil
}

func (l *lock) silence() time.Duration {
	return time.Duration(random.Between(l.s.rng, 0, int64(patience)))
}

// Release implements locks.Lock. If the store does not hear of it the lease ends with the process's
// session, or some time later.
func (l *lock) Release(ctx context.Context) error {
	s, t := l.s, l.term
	l.term = nil
	t.close()
	if t == nil {
		return nil
	}
	if err := l.p.Wait(ctx, s.delay()); err != nil {
		return err
	}
	if h := s.holds[l.name]; h != nil && h.term == t {
		h.term = nil
		if s.reaches(l.p) {
			s.free(l.name, h)
		} else {
			s.w.After(max(patience, s.ttl), nil, func() { s.free(l.name, h) })
		}
	}
	return l.p.Wait(ctx, s.delay())
}

// Until implements locks.Lock.
func (l *lock) Until() time.Time {
	switch {
	case l.term == nil:
		return time.Time{}
	case l.ignores != nil && l.ignores(l.name):
		return locks.Forever
	case !l.term.open():
		return time.Time{}
	case l.term.session.until.IsZero():
		return locks.Forever
	}
	return l.term.session.until
}

// Load implements locks.Lock. Nothing asks for records of these leases.
func (l *lock) Load(context.Context) ([]byte, error) { return nil, locks.ErrNotHeld }

// Save implements locks.Lock.
func (l *lock) Save(context.Context, []byte) error { return locks.ErrNotHeld }

// Close implements locks.Lock.
func (l *lock) Close() error { return l.Release(context.Background()) }
