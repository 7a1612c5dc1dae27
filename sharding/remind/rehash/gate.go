package rehash

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remind"
)

// ErrMoving is the error of a call while reminders are being moved to the shards of their entities.
var ErrMoving = errors.New("sharding: reminders are being moved, because Shards or ShardOf has changed")

const (
	// lookPause is the pause between two looks at the record while reminders are being moved.
	lookPause = 100 * time.Millisecond
	// waitMost is how long calls wait since the first look. Later ones fail after one look: an entity that waited with
	// each message would hold up the hand-off of its shard.
	waitMost = 2 * time.Second
)

// GateConfig is what a Gate is made of. All is required.
type GateConfig struct {
	Store     remind.Store        // of all nodes
	Layout    Layout              // by which reminders shall lie
	Scheduler scheduler.Scheduler // by which calls wait
	// Writes reports whether all nodes know of the record (format.Headers). Without a record calls pass as long as
	// they do not: nodes that do not know of it take its shard for one of the type.
	Writes func() bool
}

// Gate is a remind.Store whose calls pass when the reminders lie by a layout. Any goroutine may use it.
type Gate struct {
	cfg GateConfig

	open       atomic.Bool
	unrecorded atomic.Bool   // there was no record, and it may not be written
	writes     atomic.Uint64 // of the record

	mu    sync.Mutex
	since time.Time // of the first look
	look  *look     // the one that is under way; nil: there is none
}

// look is a look at the record, which one call makes for all that wait.
type look struct {
	ended chan struct{} // closed when err and left are set
	err   error
	left  bool // the call that has made it has ended before the look: another one has to
}

var _ remind.Store = (*Gate)(nil)

// NewGate makes a gate before a store.
func NewGate(c GateConfig) *Gate { return &Gate{cfg: c} }

// Due implements remind.Store.
func (g *Gate) Due(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, until time.Time, limit int,
) ([]remind.Reminder, time.Time, error) {
	if err := g.pass(ctx, by); err != nil {
		return nil, time.Time{}, err
	}
	return g.cfg.Store.Due(ctx, by, shard, until, limit)
}

// Of implements remind.Store.
func (g *Gate) Of(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, id protocol.EntityID,
) ([]remind.Reminder, error) {
	if err := g.pass(ctx, by); err != nil {
		return nil, err
	}
	return g.cfg.Store.Of(ctx, by, shard, id)
}

// All implements remind.Store.
func (g *Gate) All(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, after remind.Key, limit int,
) ([]remind.Reminder, remind.Key, error) {
	if err := g.pass(ctx, by); err != nil {
		return nil, remind.Key{}, err
	}
	return g.cfg.Store.All(ctx, by, shard, after, limit)
}

// Update implements remind.Store.
func (g *Gate) Update(
	ctx context.Context, by singleton.FencingToken, shard protocol.ShardID, number uint64, changes []remind.Change,
) error {
	if err := g.pass(ctx, by); err != nil {
		return err
	}
	return g.cfg.Store.Update(ctx, by, shard, number, changes)
}

// Watch implements remind.Store. It tells of the layout's shards.
func (g *Gate) Watch(fn func(shard protocol.ShardID, any bool)) (cancel func()) {
	return g.cfg.Store.Watch(func(shard protocol.ShardID, any bool) {
		if g.cfg.Layout.has(shard) {
			fn(shard, any)
		}
	})
}

// pass waits until the gate is open. One call at a time looks at the record, and what it finds answers the others.
func (g *Gate) pass(ctx context.Context, by singleton.FencingToken) error {
	for !g.passes() {
		l, own, until := g.join()
		if own {
			return g.lookUp(ctx, by, l, until)
		}
		if g.cfg.Scheduler.Await(l.ended, ctx.Done(), nil) == 1 {
			return context.Cause(ctx)
		}
		if !l.left {
			return l.err
		}
	}
	return nil
}

// passes reports whether calls pass with no look.
func (g *Gate) passes() bool { return g.open.Load() || g.unrecorded.Load() && !g.cfg.Writes() }

// join returns the look that is under way, or a new one that the caller has to make, and until when it goes on.
func (g *Gate) join() (l *look, own bool, until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.since.IsZero() {
		g.since = g.cfg.Scheduler.Now()
	}
	if own = g.look == nil; own {
		g.look = &look{ended: make(chan struct{}), left: true}
	}
	return g.look, own, g.since.Add(waitMost)
}

// lookUp makes a look: at the record, again and again up to a time if that does not name the layout.
func (g *Gate) lookUp(ctx context.Context, by singleton.FencingToken, l *look, until time.Time) (err error) {
	defer func() { // also if the store panics
		g.mu.Lock()
		close(l.ended)
		g.look = nil
		g.mu.Unlock()
	}()
	err = g.lookAgain(ctx, by, until)
	l.err, l.left = err, err != nil && ctx.Err() != nil
	return err
}

func (g *Gate) lookAgain(ctx context.Context, by singleton.FencingToken, until time.Time) error {
	for {
		r, err := read(ctx, g.cfg.Store)
		switch {
		case err != nil:
			return fmt.Errorf("how reminders lie: %w", err)
		case r.settled(g.cfg.Layout):
			g.open.Store(true)
			return nil
		case r.version == 0 && !g.cfg.Writes():
			g.unrecorded.Store(true)
			return nil
		case r.version == 0:
			// A store that nothing was kept in. Of several nodes the last one writes: all write the same.
			err := write(ctx, g.cfg.Store, by, g.writes.Add(1), record{layout: g.cfg.Layout})
			if err != nil && !errors.Is(err, remind.ErrFenced) && !errors.Is(err, remind.ErrOvertaken) {
				return fmt.Errorf("how reminders lie: %w", err)
			}
			if err == nil {
				continue
			}
		}
		if g.cfg.Scheduler.Now().Before(until) {
			pause, cancel := g.cfg.Scheduler.WithTimeout(ctx, lookPause)
			g.cfg.Scheduler.Await(pause.Done(), nil, nil)
			cancel()
			if ctx.Err() == nil {
				continue
			}
		}
		return fmt.Errorf("%w: they lie by %v, and go to %v", ErrMoving, r.layout, g.cfg.Layout)
	}
}
