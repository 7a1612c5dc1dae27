package postgres

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// door is one owner's lease of one name.
type door struct {
	s     *Store
	name  string
	owner string
	id    []byte        // random
	turn  chan struct{} // one for the call that waits for the server

	mu      sync.Mutex
	attempt int64 // of acquisitions
	unclear bool  // the row may name this door
	held    *hold // nil: not the holder
	closed  bool
}

var (
	_ locks.Lock   = (*door)(nil)
	_ locks.Holder = (*door)(nil)
)

// enter waits for the turn of a call. leave ends it.
func (d *door) enter(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
		if ctx.Err() == nil {
			return nil
		}
		d.leave()
	case <-ctx.Done():
	}
	return fmt.Errorf("lease %q: %w", d.name, ctx.Err())
}

func (d *door) leave() { <-d.turn }

// Acquire implements locks.Lock.
func (d *door) Acquire(ctx context.Context, lost func(error)) (bool, error) {
	if err := d.enter(ctx); err != nil {
		return false, err
	}
	defer d.leave()
	attempt, held, err := d.begin()
	if held || err != nil {
		return held, err
	}
	bound, steady := d.s.clock.bound(time.Now())
	var fence *int64
	var server time.Time
	sent, err := d.s.call(ctx, d.s.sql.acquire, []any{
		[]byte(d.name), []byte(d.owner), d.id, attempt, d.s.cfg.TTL + d.s.cfg.TTL/marginsPerTTL, bound, steady,
		d.s.clock.slack(),
	}, &fence, &server)
	received := time.Now()
	if err != nil {
		return false, d.explain(err)
	}
	d.s.clock.note(sample{server: server, sent: sent, received: received})
	if fence == nil {
		d.settle()
		return false, nil
	}
	return d.hold(*fence, lost, d.s.term(sample{server: server, sent: sent, received: received}))
}

// begin numbers an attempt to acquire, or says that none is needed.
func (d *door) begin() (attempt int64, held bool, err error) {
	held = !d.Until().IsZero()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return 0, false, d.closedError()
	case held && d.held != nil:
		return 0, true, nil
	}
	d.attempt++
	d.unclear = true
	return d.attempt, false, nil
}

func (d *door) closedError() error { return fmt.Errorf("lease %q: %w", d.name, locks.ErrClosed) }

// settle notes that the row does not name this door.
func (d *door) settle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.unclear = false
}

// hold begins a hold that the server has granted.
func (d *door) hold(fence int64, lost func(error), t term) (bool, error) {
	h := &hold{d: d, fence: fence, lost: lost, term: t}
	ctx, stop := context.WithCancel(d.s.ctx)
	h.stop = stop
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed || !d.s.keeps(d, func() { h.keep(ctx) }):
		stop()
		return false, d.closedError()
	case !t.lasts(time.Now()):
		d.s.forgets(d)
		stop()
		return false, &locks.Error{
			Kind: locks.ErrUnusable, Path: d.path(), Detail: "the answer of the server came after the end of the lease",
			Remedy: "see what has held up this process, or raise Config.TTL",
		}
	}
	d.held = h
	return true, nil
}

// Until implements locks.Lock. It does not wait for the server.
func (d *door) Until() time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	h := d.held
	switch {
	case h == nil:
		return time.Time{}
	case !h.term.lasts(time.Now()):
		h.loseLocked(h.ended())
		return time.Time{}
	}
	return h.term.until
}

// current returns the present hold.
func (d *door) current() (*hold, term, error) {
	held := !d.Until().IsZero()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return nil, term{}, d.closedError()
	case !held || d.held == nil:
		return nil, term{}, d.notHeld()
	}
	return d.held, d.held.term, nil
}

func (d *door) notHeld() error { return fmt.Errorf("lease %q: %w", d.name, locks.ErrNotHeld) }

// drop ends the hold without a word, and reports what there is to release.
func (d *door) drop() (attempt int64, unclear bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		d.held.endLocked()
	}
	return d.attempt, d.unclear
}

// Release implements locks.Lock. After an error the lease may last to its end on the server.
func (d *door) Release(ctx context.Context) error {
	d.drop()
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.leave()
	attempt, unclear := d.drop() // again: a call to Acquire may have been under way
	if !unclear {
		return nil
	}
	var released int
	if _, err := d.s.call(ctx, d.s.sql.release, []any{[]byte(d.name), d.id, attempt}, &released); err != nil {
		return d.explain(err)
	}
	d.settle()
	return nil
}

// Close implements locks.Lock.
func (d *door) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 2*d.s.cfg.Timeout) // a call may be under way
	defer cancel()
	err := d.Release(ctx)
	if errors.Is(err, locks.ErrClosed) {
		return nil // the store has released it
	}
	return err
}

// Holder implements locks.Holder: the present holder, or the last one.
func (d *door) Holder(ctx context.Context) string {
	var owner []byte
	if _, err := d.s.call(ctx, d.s.sql.holder, []any{[]byte(d.name)}, &owner); err != nil {
		return ""
	}
	return string(owner)
}

func (d *door) path() string            { return d.s.path(fmt.Sprintf("%q in ", d.name)) }
func (d *door) explain(err error) error { return d.s.explain(fmt.Sprintf("%q in ", d.name), err) }
