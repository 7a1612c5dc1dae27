package sim

import (
	"context"
	"errors"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// lockStore is the store of leases as one process uses it.
type lockStore struct{ p *Process }

// lock is the door of a process to one lease.
type lock struct {
	p    *Process
	name string
	term *term // the present hold; nil: there is none, as far as the process knows
}

var (
	_ locks.Store = lockStore{}
	_ locks.Lock  = (*lock)(nil)
)

// patience is how long one call of the store takes at most.
const patience = 5 * time.Second

var (
	errUnreached = errors.New("the store cannot be reached")
	errTooLate   = errors.New("its time has passed")
)

// ID implements locks.Store.
func (lockStore) ID() string { return "sim" }

// Lock implements locks.Store.
func (s lockStore) Lock(name, _ string) (locks.Lock, error) { return &lock{p: s.p, name: name}, nil }

// Acquire implements locks.Lock.
func (l *lock) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	p, w := l.p, l.p.w
	x := p.openSession()
	t := &term{session: x}
	t.onLost = func(text string) { p.rt.Enter(func() { lost(errors.New(text)) }) }
	if err := p.sleepIn(ctx, w.leases.delay()); err != nil {
		return false, err
	}
	if !w.leases.reaches(p) {
		return false, errors.Join(errUnreached, p.sleepIn(ctx, l.silence()))
	}
	got := w.leases.acquire(l.name, x, t)
	if got {
		l.term = t
	}
	if !w.healed && w.leases.rng.IntN(30) == 0 {
		return false, errors.Join(errUnreached, p.sleepIn(ctx, l.silence()))
	}
	if err := p.sleepIn(ctx, w.leases.delay()); err != nil {
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
	return time.Duration(random.Between(l.p.w.leases.rng, 0, int64(patience)))
}

// Release implements locks.Lock. If the store does not hear of it the lease ends with the process's
// session, or some time later.
func (l *lock) Release(ctx context.Context) error {
	w, t := l.p.w, l.term
	l.term = nil
	t.close()
	if t == nil {
		return nil
	}
	if err := l.p.sleepIn(ctx, w.leases.delay()); err != nil {
		return err
	}
	if h := w.leases.holds[l.name]; h != nil && h.term == t {
		h.term = nil
		if w.leases.reaches(l.p) {
			w.leases.free(l.name, h)
		} else {
			w.after(max(patience, w.opt.LeaseTTL), nil, func() { w.leases.free(l.name, h) })
		}
	}
	return l.p.sleepIn(ctx, w.leases.delay())
}

// Until implements locks.Lock.
func (l *lock) Until() time.Time {
	switch {
	case l.term == nil:
		return time.Time{}
	case l.p.w.planted.ignores(l.name):
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

// sleepIn waits, and returns the error of ctx if that ends first.
func (p *Process) sleepIn(ctx context.Context, d time.Duration) error {
	over := make(chan struct{})
	t := p.rt.AfterFunc(d, func() { close(over) })
	defer t.Stop()
	if p.rt.Await(over, ctx.Done(), nil) == 1 {
		return ctx.Err()
	}
	return nil
}
