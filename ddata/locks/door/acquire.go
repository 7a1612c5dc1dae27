package door

import (
	"context"

	"github.com/coterie-go/coterie/ddata/locks"
)

// attempt is one call of Acquire, from its begin until it is the hold, fails, or is given up.
type attempt[H comparable, R comparable] struct {
	d   *Door[H, R]
	ctx context.Context
	end context.CancelFunc
}

// Acquire implements locks.Lock.
func (d *Door[H, R]) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	releases := d.countReleases(0)
	ctx, done, err := d.Enter(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	if d.present() != nil {
		return true, nil
	}
	a, err := d.try(ctx, releases)
	if err != nil {
		return false, err
	}
	defer a.finish()
	h, err := a.acquire()
	if none := *new(H); h == none || err != nil {
		return false, a.failed(err)
	}
	return a.begin(h, lost)
}

// try begins an attempt. releases is their number when Acquire was called.
func (d *Door[H, R]) try(ctx context.Context, releases int) (*attempt[H, R], error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, d.system.Refer(locks.ErrClosed)
	case d.releases != releases:
		return nil, d.releasedError()
	}
	a := &attempt[H, R]{d: d}
	a.ctx, a.end = context.WithCancel(ctx)
	d.trying = a
	return a, nil
}

// finish ends an attempt, if it was not given up.
func (a *attempt[H, R]) finish() {
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if a.d.trying == a {
		a.d.trying = nil
	}
	a.end()
}

// acquire makes a hold: the zero one if there is a holder.
func (a *attempt[H, R]) acquire() (h H, err error) {
	if err := a.d.Settle(a.ctx); err != nil {
		return h, err
	}
	return a.d.system.TryAcquire(a.ctx)
}

// failed is an error of an attempt, or says that the attempt was given up.
func (a *attempt[H, R]) failed(err error) error {
	a.d.mu.Lock()
	defer a.d.mu.Unlock()
	if given := a.givenUpLocked(); given != nil {
		return given
	}
	return err
}

// givenUpLocked says by what an attempt was given up: nil if it goes on.
func (a *attempt[H, R]) givenUpLocked() error {
	switch {
	case a.d.closed:
		return a.d.system.Refer(locks.ErrClosed)
	case a.d.trying != a:
		return a.d.releasedError()
	}
	return nil
}

// begin makes the door the holder.
func (a *attempt[H, R]) begin(hold H, lost func(error)) (bool, error) {
	d := a.d
	d.mu.Lock()
	defer d.mu.Unlock()
	d.rest = d.system.Rest(hold)
	if err := a.givenUpLocked(); err != nil {
		return false, err
	}
	if !d.system.Lasts(hold) {
		return false, d.system.Late()
	}
	h := &held[H]{hold: hold, lost: lost}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	d.held, d.trying, d.rest = h, nil, *new(R)
	d.keeping.Go(func() { d.system.Keep(h.ctx, hold) })
	return true, nil
}
