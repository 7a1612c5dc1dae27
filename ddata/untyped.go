package ddata

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
)

// The methods of a Replicator are the functions of the same names without a type, for callers that
// bring their own views and mutations.

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
