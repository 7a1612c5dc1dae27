package ddata

import (
	"context"
	"errors"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
)

// The methods of a Replicator are the functions of the same names without a type, for callers that
// bring their own views and mutations. Two more are for callers that do not wait.

// Get is the function Get without a type.
func (r *Replicator) Get(ctx context.Context, key string, level Level) (crdt.Reader, error) {
	if level == ReadLocal {
		return r.local(ctx, key)
	}
	res := r.call(ctx, level, nil, func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
		return replicator.Get{ID: id, Key: key, Read: level, Timeout: timeout}
	})
	return res.Reader, r.wrap("get", key, level, res.Err)
}

// Update is the function Update without a type; crdt.Mutate makes an fn of a typed one.
func (r *Replicator) Update(ctx context.Context, key string, level Level, fn func(*crdt.Tx) error) error {
	res := r.call(ctx, level, fn, func(id uint64, timeout time.Duration, run func(*crdt.Tx) error) replicator.Input {
		return replicator.Update{ID: id, Key: key, Mutate: run, Write: level, Timeout: timeout}
	})
	return r.wrap("update", key, level, res.Err)
}

// Delete is the function Delete without a type.
func (r *Replicator) Delete(ctx context.Context, key string, level Level) error {
	res := r.call(ctx, level, nil, func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
		return replicator.Delete{ID: id, Key: key, Write: level, Timeout: timeout}
	})
	return r.wrap("delete", key, level, res.Err)
}

// DeleteForever is the function DeleteForever without a type.
func (r *Replicator) DeleteForever(ctx context.Context, key string, level Level) error {
	res := r.call(ctx, level, nil, func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
		return replicator.DeleteForever{ID: id, Key: key, Write: level, Timeout: timeout}
	})
	return r.wrap("delete forever", key, level, res.Err)
}

// GetThen is Get for a caller that does not wait: done gets the result, once, on any goroutine, and
// must be quick. timeout 0 stands for ctx's deadline, without one for Config.RequestTimeout. When
// ctx is cancelled, nothing is kept of the read, and done gets ctx's error.
func (r *Replicator) GetThen(ctx context.Context, key string, level Level, timeout time.Duration, done func(crdt.Reader, error)) {
	r.then(ctx, level, timeout, func(id uint64, timeout time.Duration) replicator.Input {
		return replicator.Get{ID: id, Key: key, Read: level, Timeout: timeout}
	}, func(res replicator.Result) { done(res.Reader, r.wrap("get", key, level, res.Err)) })
}

// UpdateThen is Update for a caller that does not wait: done gets the result, once, on any
// goroutine, and must be quick. timeout 0 stands for ctx's deadline, without one for
// Config.RequestTimeout. When ctx is cancelled, that means what it means to Update.
func (r *Replicator) UpdateThen(ctx context.Context, key string, level Level, timeout time.Duration, fn func(*crdt.Tx) error, done func(error)) {
	t := &turn{fn: fn}
	r.then(ctx, level, timeout, func(id uint64, timeout time.Duration) replicator.Input {
		return replicator.Update{ID: id, Key: key, Mutate: t.run, Write: level, Timeout: timeout}
	}, func(res replicator.Result) { done(r.wrap("update", key, level, t.ended(ctx, res.Err))) })
}

// then is call for a caller that does not wait. The machine answers when ctx is cancelled, too.
func (r *Replicator) then(ctx context.Context, level Level, timeout time.Duration, in func(id uint64, timeout time.Duration) replicator.Input,
	done func(replicator.Result),
) {
	if err := ctx.Err(); err != nil {
		done(replicator.Result{Err: err})
		return
	}
	if d, ok := ctx.Deadline(); ok && (timeout <= 0 || time.Until(d) < timeout) {
		timeout = max(time.Until(d), time.Millisecond)
	}
	if timeout <= 0 {
		timeout = r.n.cfg.RequestTimeout
	}
	id := r.number.Add(1)
	q := request{in: in(id, timeout), id: id, level: level, done: done}
	if ctx.Done() != nil {
		q.call = &ticket{}
		stop := context.AfterFunc(ctx, func() {
			if !errors.Is(ctx.Err(), context.DeadlineExceeded) { // at the deadline the machine knows how far it came
				r.withdraw(q.call)
			}
		})
		q.done = func(res replicator.Result) {
			stop()
			if errors.Is(res.Err, replicator.ErrCancelled) {
				res.Err = ctx.Err()
			}
			done(res)
		}
	}
	if !r.loop.Post(q) {
		q.done(replicator.Result{Err: r.refusal()})
	}
}
