package ddata

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// The methods of a Replicator are the functions of the same names without a type, for callers that
// bring their own views and mutations.

// Get is the function Get without a type.
func (r *Replicator) Get(ctx context.Context, key string, level ReadLevel) (crdt.Reader, error) {
	if level == ReadLocal {
		return r.local(ctx, key)
	}
	res := r.call(ctx, quorum.Level(level), nil,
		func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
			return replicator.Get{ID: id, Key: key, Read: quorum.Level(level), Timeout: timeout}
		})
	return res.Reader, r.wrap("get", key, quorum.Level(level), res.Err)
}

// Update is the function Update without a type; crdt.Mutate makes an fn of a typed one.
func (r *Replicator) Update(ctx context.Context, key string, level WriteLevel, fn func(*crdt.Tx) error) error {
	res := r.call(ctx, quorum.Level(level), fn,
		func(id uint64, timeout time.Duration, run func(*crdt.Tx) error) replicator.Input {
			return replicator.Update{ID: id, Key: key, Mutate: run, Write: quorum.Level(level), Timeout: timeout}
		})
	return r.wrap("update", key, quorum.Level(level), res.Err)
}

// Delete is the function Delete without a type.
func (r *Replicator) Delete(ctx context.Context, key string, level WriteLevel) error {
	res := r.call(ctx, quorum.Level(level), nil,
		func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
			return replicator.Delete{ID: id, Key: key, Write: quorum.Level(level), Timeout: timeout}
		})
	return r.wrap("delete", key, quorum.Level(level), res.Err)
}

// DeleteForever is the function DeleteForever without a type.
func (r *Replicator) DeleteForever(ctx context.Context, key string, level WriteLevel) error {
	res := r.call(ctx, quorum.Level(level), nil,
		func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
			return replicator.DeleteForever{ID: id, Key: key, Write: quorum.Level(level), Timeout: timeout}
		})
	return r.wrap("delete forever", key, quorum.Level(level), res.Err)
}
