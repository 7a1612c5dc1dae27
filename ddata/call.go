package ddata

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata/turn"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// ticket names an operation in the machine. It belongs to the loop's goroutine while the operation
// is under way.
type ticket struct {
	id     uint64          // 0: it has not come there yet
	gone   bool            // nor need it
	traced context.Context // has its trace; nil: there is none
}

// waiter is what one caller waits with. Its result always comes: from the machine, from stop, or
// from late. A second result finds ch full. A waiter goes back to the pool only when its result was
// taken and late cannot fire any more, so no late result reaches the next caller.
type waiter struct {
	ticket
	turn.Turn  // of an update
	turn.Sight // of one that looks back
	ch         chan effect.Result
	late       *time.Timer // stopped while in the pool

	done func(effect.Result)  // gives the result
	run  func(*crdt.Tx) error // Turn.Run, made once
}

// waiters is a pool of them. Each Replicator has its own: a channel and a timer belong to the
// testing/synctest bubble that made them, so a pool of the process would pass them from one test to
// the next.
type waiters struct{ pool sync.Pool }

func (p *waiters) get() *waiter {
	if w, ok := p.pool.Get().(*waiter); ok {
		w.ticket = ticket{}
		return w
	}
	return newWaiter()
}

func (p *waiters) put(w *waiter) { p.pool.Put(w) }

func newWaiter() *waiter {
	w := &waiter{ch: make(chan effect.Result, 1)}
	w.done = func(res effect.Result) {
		if res.Read {
			w.See(res.Reader)
		}
		select {
		case w.ch <- res:
		default:
		}
	}
	w.late = time.AfterFunc(time.Hour, func() { w.done(effect.Result{Err: errHeldUp}) })
	w.late.Stop()
	w.run = w.Turn.Run
	return w
}

// errHeldUp is what a caller gets that was not answered.
var errHeldUp = fmt.Errorf("%w: the replica's goroutine is held up, by an update function perhaps; the outcome "+
	"is unknown: %w",
	operation.ErrTimeout, context.DeadlineExceeded)

// callGrace is how long a caller waits beyond its deadline for the machine, which knows how far the
// operation got.
const callGrace = time.Second

// request is call of an operation that has a name, within the trace of ctx.
func (r *Replicator) request(ctx context.Context, op, key string, level quorum.Level, fn func(*crdt.Tx) error,
	look func(crdt.Reader), in func(id uint64, timeout time.Duration, fn func(*crdt.Tx) error) replicator.Input,
) (effect.Result, error) {
	traced, span := r.requests.Begin(ctx, op, key, level)
	res := r.call(ctx, traced, level, fn, look, in)
	err := r.wrap(op, key, level, res.Err)
	if span != nil {
		span.End(err)
	}
	return res, err
}

// call steps an operation and waits for its result. in makes it of its number, its time limit and,
// of an update, the fn that runs unless the caller has gone before. look, which may be nil, sees the
// state with which an operation is answered, in the replica's goroutine. The machine's own time-out
// comes at the deadline and knows how far the operation got, so a caller waits a little longer than
// that. Its wait is bounded, because the replica's goroutine may be held up.
func (r *Replicator) call(
	ctx, traced context.Context, level quorum.Level, fn func(*crdt.Tx) error, look func(crdt.Reader),
	in func(id uint64, timeout time.Duration, fn func(*crdt.Tx) error) replicator.Input,
) effect.Result {
	timeout := r.n.cfg.RequestTimeout
	if d, ok := ctx.Deadline(); ok {
		timeout = time.Until(d)
	}
	w := r.waiters.get()
	w.traced = traced
	w.Set(fn)
	w.Show(look)
	if err := ctx.Err(); err != nil {
		return effect.Result{Err: w.Leave(err)}
	}
	id := r.number.Add(1)
	if !r.loop.Post(request{
		in: in(id, max(timeout, time.Millisecond), w.run), id: id, level: level, done: w.done, call: &w.ticket,
	}) {
		return effect.Result{Err: r.refusal()}
	}
	w.late.Reset(timeout + callGrace)
	return r.wait(ctx, w)
}

// wait returns the result, or takes the operation back when ctx is cancelled.
func (r *Replicator) wait(ctx context.Context, w *waiter) effect.Result {
	select {
	case res := <-w.ch:
		return r.took(w, res)
	case <-ctx.Done():
		if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
			r.withdraw(&w.ticket)
			w.Show(nil)
			return effect.Result{Err: w.Leave(err)}
		}
	}
	return r.took(w, <-w.ch) // the machine's own time-out is about to come
}

// took puts a waiter back whose result was taken, unless late may come yet.
func (r *Replicator) took(w *waiter, res effect.Result) effect.Result {
	w.Show(nil)
	if w.late.Stop() {
		w.Set(nil)
		w.traced = nil
		r.waiters.put(w)
	}
	return res
}

// withdraw ends an operation whose caller has gone, so that nothing waits for the caller any more.
// Many at a time cost one step.
func (r *Replicator) withdraw(t *ticket) {
	r.goneMu.Lock()
	first := len(r.gone) == 0
	r.gone = append(r.gone, t)
	r.goneMu.Unlock()
	if first {
		r.loop.Force(request{do: (*replicaHost).cancelGone})
	}
}

// cancelGone ends what was withdrawn.
func (h *replicaHost) cancelGone() {
	r := h.r
	r.goneMu.Lock()
	gone := r.gone
	r.gone = nil
	r.goneMu.Unlock()
	ids := make([]uint64, 0, len(gone))
	for _, t := range gone {
		if t.gone = true; t.id != 0 {
			ids = append(ids, t.id)
		}
	}
	driverOf(h).Step(time.Now(), replicator.Cancel{IDs: ids})
}
