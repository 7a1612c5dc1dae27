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

	mu       sync.Mutex
	attempt  int64    // number of the last one
	version  int64    // of the row that the last request to take the lease goes by
	unclear  bool     // the row may name this door, now or later; the store keeps those doors
	trying   *attempt // nil: none that may become the hold
	held     *hold    // nil: not the holder
	releases int      // calls of Release
	closed   bool
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

func (d *door) releasedError() error {
	return fmt.Errorf("%w: it was released while it was acquired", d.notHeld())
}

func (d *door) closedError() error { return fmt.Errorf("lease %q: %w", d.name, locks.ErrClosed) }

// isClosedLocked reports whether the door or its store was closed.
func (d *door) isClosedLocked() bool { return d.closed || d.s.isClosed() }

// settleLocked notes that the row does not name this door, and will not.
func (d *door) settleLocked() {
	d.unclear = false
	d.s.forgets(d)
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
	case d.isClosedLocked():
		return nil, term{}, d.closedError()
	case !held || d.held == nil:
		return nil, term{}, d.notHeld()
	}
	return d.held, d.held.term, nil
}

func (d *door) notHeld() error { return fmt.Errorf("lease %q: %w", d.name, locks.ErrNotHeld) }

// countReleases adds calls of Release to their number, and returns it.
func (d *door) countReleases(more int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.releases += more
	return d.releases
}

// claim is what the server may have of a door, or get.
type claim struct {
	attempt, version int64
	unclear          bool
}

// drop ends the hold without a word, gives up the attempt that is under way, and returns what there
// is to release.
func (d *door) drop() claim {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held != nil {
		d.held.endLocked()
	}
	if d.trying != nil {
		d.trying.end()
		d.trying = nil
	}
	return claim{d.attempt, d.version, d.unclear}
}

// Release implements locks.Lock. It ends the calls that are under way, and those of Acquire that wait.
// After an error the lease may last to its end on the server.
func (d *door) Release(ctx context.Context) error {
	d.countReleases(1)
	d.drop()
	if err := d.enter(ctx); err != nil {
		return err
	}
	defer d.leave()
	c := d.drop() // again: another call may have acquired
	if !c.unclear {
		return nil
	}
	var released int
	_, err := d.s.call(ctx, d.s.sql.release, []any{[]byte(d.name), d.id, c.attempt, c.version}, &released)
	if err != nil {
		return d.explain(err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.settleLocked()
	return nil
}

// Close implements locks.Lock.
func (d *door) Close() error {
	d.mu.Lock()
	d.closed = true
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), d.s.cfg.Timeout)
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
