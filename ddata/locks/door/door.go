package door

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
)

// System is what another system does for a door. H is a hold, a pointer, and R its rest, of which the zero value is
// nothing. A method that is said to be called with the lock must be quick and must call none of the Door.
type System[H comparable, R comparable] interface {
	// Refer makes an error one about this lease.
	Refer(err error) error
	// Bound limits a call that may talk to the system.
	Bound(ctx context.Context) (context.Context, context.CancelFunc)
	// TryAcquire tries to acquire: the zero H if there is a holder. What it may leave it tells the Door by Leave.
	TryAcquire(ctx context.Context) (H, error)
	// Undo sees to it that a rest has no effect any more.
	Undo(ctx context.Context, r R) error
	// Keep renews a hold until ctx ends or it has told the Door that the hold is lost.
	Keep(ctx context.Context, h H)

	// Rest is what a hold leaves. With the lock.
	Rest(h H) R
	// End is until when a hold lasts. With the lock.
	End(h H) time.Time
	// Lasts reports whether the time of a hold is not over. With the lock.
	Lasts(h H) bool
	// Expired is the error of a hold whose time is over. With the lock.
	Expired() error
	// Late is that of an attempt whose time was over when it was answered. With the lock.
	Late() error
}

// Door implements Acquire, Release, Until and Close of locks.Lock.
type Door[H comparable, R comparable] struct {
	system  System[H, R]
	turn    chan struct{} // taken by the call that talks to the system
	open    context.Context
	end     context.CancelFunc // of open
	keeping sync.WaitGroup     // renewals of holds

	mu       sync.Mutex
	held     *held[H]       // nil = not held
	trying   *attempt[H, R] // nil = none that may become the hold
	rest     R
	releases int // calls of Release
	closed   bool
}

// held is a hold that has begun.
type held[H comparable] struct {
	hold   H
	lost   func(error)
	ctx    context.Context // ends with the hold
	cancel context.CancelFunc
}

// New makes the door of a lease, which s acquires and renews.
func New[H comparable, R comparable](s System[H, R]) *Door[H, R] {
	d := &Door[H, R]{system: s, turn: make(chan struct{}, 1)}
	d.open, d.end = context.WithCancel(context.Background())
	return d
}

// Locked calls fn with the lock, under which the System has what it shares with Keep.
func (d *Door[H, R]) Locked(fn func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	fn()
}

// Enter waits for the turn of a call. It returns the call's context, and what ends the call.
func (d *Door[H, R]) Enter(ctx context.Context) (context.Context, func(), error) {
	if d.isClosed() {
		return nil, nil, d.system.Refer(locks.ErrClosed)
	}
	return d.await(ctx, d.open)
}

// await is Enter for a door that may be closed. The context that it returns ends with the other one, too.
func (d *Door[H, R]) await(ctx, other context.Context) (context.Context, func(), error) {
	if ctx.Err() != nil {
		return nil, nil, d.system.Refer(ctx.Err())
	}
	ctx, cancel := d.system.Bound(ctx)
	forget := context.AfterFunc(other, cancel)
	leave := func() { forget(); cancel() }
	select {
	case d.turn <- struct{}{}:
		return ctx, func() { leave(); <-d.turn }, nil
	case <-ctx.Done():
		leave()
		if d.isClosed() && other == d.open {
			return nil, nil, d.system.Refer(locks.ErrClosed)
		}
		return nil, nil, d.system.Refer(ctx.Err())
	}
}

func (d *Door[H, R]) isClosed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.closed
}

// countReleases adds calls of Release to their number, and returns it.
func (d *Door[H, R]) countReleases(more int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.releases += more
	return d.releases
}

// Release implements locks.Lock. It ends the calls that are under way, and those of Acquire that wait. After an
// error the lease may last to its end in the system.
func (d *Door[H, R]) Release(ctx context.Context) error {
	d.countReleases(1)
	d.Locked(d.dropLocked)
	ctx, done, err := d.await(ctx, context.Background())
	if err != nil {
		return err
	}
	defer done()
	d.Locked(d.dropLocked) // another call may have acquired
	return d.Settle(ctx)
}

// dropLocked ends the hold on this side, and gives up the attempt that is under way.
func (d *Door[H, R]) dropLocked() {
	if h := d.held; h != nil {
		h.cancel()
		d.held, d.rest = nil, d.system.Rest(h.hold)
	}
	if a := d.trying; a != nil {
		a.end()
		d.trying = nil
	}
}

// Leave notes what is left in the system.
func (d *Door[H, R]) Leave(r R) { d.Locked(func() { d.rest = r }) }

// Settle settles what is left in the system. The caller has the turn.
func (d *Door[H, R]) Settle(ctx context.Context) error {
	var r, nothing R
	d.Locked(func() { r = d.rest })
	if r == nothing {
		return nil
	}
	err := d.system.Undo(ctx, r)
	if err == nil {
		d.Leave(nothing)
	}
	return err
}

// Held returns the hold. One whose time has passed is lost here, if its renewals have not noticed.
func (d *Door[H, R]) Held() (h H, ok bool) {
	if held := d.present(); held != nil {
		return held.hold, true
	}
	return h, false
}

func (d *Door[H, R]) present() *held[H] {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.held; h != nil && !d.system.Lasts(h.hold) {
		d.loseLocked(h.hold, d.system.Expired())
	}
	return d.held
}

// loseLocked ends a hold, unless it has ended, and says so.
func (d *Door[H, R]) loseLocked(hold H, err error) {
	h := d.held
	if h == nil || h.hold != hold {
		return
	}
	d.dropLocked()
	if h.lost != nil {
		go h.lost(err)
	}
}

// Lose ends a hold, unless it has ended, and tells its owner.
func (d *Door[H, R]) Lose(h H, err error) { d.Locked(func() { d.loseLocked(h, err) }) }

// AsHolder has the holder do something in its turn. The end of the hold ends the context.
func (d *Door[H, R]) AsHolder(ctx context.Context, do func(context.Context, H) error) error {
	ctx, done, err := d.Enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	h := d.present()
	if h == nil {
		return d.system.Refer(locks.ErrNotHeld)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.ctx, cancel)()
	return do(ctx, h.hold)
}

// Until implements locks.Lock.
func (d *Door[H, R]) Until() (until time.Time) {
	if h := d.present(); h != nil {
		d.Locked(func() { until = d.system.End(h.hold) })
	}
	return until
}

// Close implements locks.Lock. It waits for the system no longer than Bound says. If that does not answer, another
// call tries again.
func (d *Door[H, R]) Close() error {
	d.Locked(func() {
		d.closed = true
		d.dropLocked()
	})
	d.end()
	d.keeping.Wait()
	return d.Release(context.Background())
}

func (d *Door[H, R]) releasedError() error {
	return fmt.Errorf("%w: it was released while it was acquired", d.system.Refer(locks.ErrNotHeld))
}
