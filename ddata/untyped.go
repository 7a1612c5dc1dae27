package ddata

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
)

// Read is Get without a type, for those who bring their own views.
func (r *Replicator) Read(ctx context.Context, key string, level Level) (crdt.Reader, error) {
	if level == ReadLocal {
		return r.local(ctx, key)
	}
	res := r.call(ctx, func(timeout time.Duration) replicator.Input {
		return replicator.Get{Key: key, Read: level, Timeout: timeout}
	})
	return res.Reader, wrap("get", key, level, res.Err)
}

// Write is Update without a type, for those who bring their own mutations.
func (r *Replicator) Write(ctx context.Context, key string, level Level, fn func(*crdt.Tx) error) error {
	t := &turn{fn: fn}
	res := r.call(ctx, func(timeout time.Duration) replicator.Input {
		return replicator.Update{Key: key, Mutate: t.run, Write: level, Timeout: timeout}
	})
	if err := ctx.Err(); err != nil && errors.Is(res.Err, err) && t.leave() {
		res.Err = fmt.Errorf("%w before its turn came: nothing happened", err)
	}
	return wrap("update", key, level, res.Err)
}

// EndKey is DeleteForever without a type.
func (r *Replicator) EndKey(ctx context.Context, key string, level Level) error {
	res := r.call(ctx, func(timeout time.Duration) replicator.Input {
		return replicator.DeleteForever{Key: key, Write: level, Timeout: timeout}
	})
	return wrap("delete forever", key, level, res.Err)
}

// ReadThen is Read for those who cannot wait: done gets the result, once, on any goroutine, and must be quick. timeout 0 stands
// for Config.RequestTimeout.
func (r *Replicator) ReadThen(key string, level Level, timeout time.Duration, done func(crdt.Reader, error)) {
	r.then(replicator.Get{Key: key, Read: level, Timeout: timeout}, func(res replicator.Result) {
		done(res.Reader, wrap("get", key, level, res.Err))
	})
}

// WriteThen is Write for those who cannot wait: done gets the result, once, on any goroutine, and must be quick. timeout 0 stands
// for Config.RequestTimeout.
func (r *Replicator) WriteThen(key string, level Level, timeout time.Duration, fn func(*crdt.Tx) error, done func(error)) {
	r.then(replicator.Update{Key: key, Mutate: fn, Write: level, Timeout: timeout}, func(res replicator.Result) {
		done(wrap("update", key, level, res.Err))
	})
}

func (r *Replicator) then(in replicator.Input, done func(replicator.Result)) {
	if !r.loop.Post(request{in: in, done: done}) {
		done(replicator.Result{Err: r.refusal()})
	}
}
