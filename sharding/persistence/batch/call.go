package batch

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/batch/calls"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// call makes one call of a store, and tells the machine how it has ended.
func (c *Client) call(x *calls.Call) {
	ctx, cancel := c.cfg.Scheduler.WithTimeout(c.ctx, c.cfg.Settings.CallTimeout)
	defer cancel()
	var settled []calls.Settled
	err := ErrPanicked // if the store does not return
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: %v", ErrPanicked, p)
			c.panicked(x, p)
		}
		c.loop.Force(calls.Returned{Call: x, Outcome: outcomeOf(err), Err: err, Settled: settled})
	}()
	settled, err = c.make(ctx, x)
}

// panicked tells of a panic of the store: the first, the second, the fourth and so on.
func (c *Client) panicked(x *calls.Call, value any) {
	if n := c.panics.Add(1); n&(n-1) == 0 {
		c.cfg.Emit(events.UserCodePanicked{
			In:    fmt.Sprintf("the store of entity type %q, at %v", c.cfg.Name, x.Kind),
			Panic: fmt.Sprint(value), Stack: string(debug.Stack()), SoFar: n,
		})
	}
}

// outcomeOf tells errors apart.
func outcomeOf(err error) calls.Outcome {
	switch {
	case err == nil:
		return calls.Succeeded
	case errors.Is(err, persistence.ErrFenced):
		return calls.Fenced
	}
	for _, hopeless := range []error{
		persistence.ErrConflict, persistence.ErrTooLarge, persistence.ErrDamaged,
		persistence.ErrForeign, persistence.ErrVersion, persistence.ErrClosed,
	} {
		if errors.Is(err, hopeless) {
			return calls.Hopeless
		}
	}
	return calls.Unknown
}

// make calls the store.
func (c *Client) make(ctx context.Context, x *calls.Call) (settled []calls.Settled, err error) {
	h := persistence.Hosting{Type: c.cfg.Name, Shard: x.Hosting.Shard, Token: x.Hosting.Token}
	switch x.Kind {
	case calls.Fence:
		return nil, c.fences[x.Store].Fence(ctx, h)
	case calls.Append:
		refused, err := c.cfg.Journal.Append(ctx, h, collect(x, func(r *write) persistence.Write { return r.write }))
		return refusals(len(x.Ops), refused, err)
	case calls.SaveState:
		refused, err := c.cfg.States.SaveStates(ctx, h,
			collect(x, func(r *stateWrite) persistence.StateWrite { return r.write }))
		return refusals(len(x.Ops), refused, err)
	case calls.SaveSnapshot:
		refused, err := c.cfg.Snapshots.SaveSnapshots(ctx, h,
			collect(x, func(r *snapshot) persistence.Snapshot { return r.snapshot }))
		return refusals(len(x.Ops), refused, err)
	case calls.Delete:
		r := x.Ops[0].Value.(*deletion)
		return nil, c.cfg.Journal.Delete(ctx, h, r.id, r.upTo)
	case calls.DeleteSnapshots:
		r := x.Ops[0].Value.(*deletion)
		return nil, c.cfg.Snapshots.DeleteSnapshots(ctx, h, r.id, r.upTo)
	case calls.Load:
		return c.load(ctx, h, x)
	case calls.LoadSnapshot:
		reads := collect(x, func(l *load[persistence.Snapshot]) persistence.SnapshotRead {
			return persistence.SnapshotRead{Entity: l.id, Below: l.after}
		})
		err = c.cfg.Snapshots.LoadSnapshots(ctx, h, reads, one[persistence.Snapshot](x))
		return loaded[persistence.Snapshot](x, err != nil), err
	default: // LoadState
		ids := collect(x, func(l *load[persistence.State]) protocol.EntityID { return l.id })
		err = c.cfg.States.LoadStates(ctx, h, ids, one[persistence.State](x))
		return loaded[persistence.State](x, err != nil), err
	}
}

// collect makes what a call is given of its requests.
func collect[R, T any](x *calls.Call, of func(R) T) []T {
	all := make([]T, len(x.Ops))
	for i, o := range x.Ops {
		all[i] = of(o.Value.(R))
	}
	return all
}

// refusals says which writes had no effect. After an error nothing is known of any.
func refusals(n int, refused []persistence.Refusal, err error) ([]calls.Settled, error) {
	if err != nil || len(refused) == 0 {
		return nil, err
	}
	settled := make([]calls.Settled, len(refused))
	for i, r := range refused {
		if r.Index < 0 || r.Index >= n || r.Err == nil {
			return nil, fmt.Errorf("persistence: the store refuses write %d of %d: %w", r.Index, n, r.Err)
		}
		settled[i] = calls.Settled{Index: r.Index, Err: r.Err}
	}
	return settled, nil
}

// load loads events. Each read goes on after what a call before it has brought.
func (c *Client) load(ctx context.Context, h persistence.Hosting, x *calls.Call) ([]calls.Settled, error) {
	loads := collect(x, func(l *load[persistence.Event]) *load[persistence.Event] { return l })
	reads := collect(x, func(l *load[persistence.Event]) persistence.Read {
		return persistence.Read{Entity: l.id, After: l.after}
	})
	ends, err := c.cfg.Journal.Load(ctx, h, reads, func(i int, e persistence.Event) error {
		loads[i].after = e.Seq
		loads[i].take(e)
		return ctx.Err()
	})
	if err == nil && len(ends) != len(reads) {
		err = fmt.Errorf("persistence: the store has answered %d of %d reads", len(ends), len(reads))
	}
	var settled []calls.Settled
	for i, l := range loads {
		if _, failed := l.state(); failed != nil {
			settled = append(settled, calls.Settled{Index: i, Err: failed})
		} else if err == nil {
			l.ends(ends[i])
		}
	}
	return settled, err
}

// one takes at most one value for each read of a call.
func one[T any](x *calls.Call) func(int, T) error {
	return func(i int, v T) error {
		l := x.Ops[i].Value.(*load[T])
		if came, _ := l.state(); !came {
			l.take(v)
		}
		return nil
	}
}

// loaded returns the reads that are over whatever the call has ended with: each has failed, or, if
// the call has failed, each has had its value.
func loaded[T any](x *calls.Call, failed bool) (settled []calls.Settled) {
	for i, o := range x.Ops {
		if came, err := o.Value.(*load[T]).state(); err != nil || came && failed {
			settled = append(settled, calls.Settled{Index: i, Err: err})
		}
	}
	return settled
}
