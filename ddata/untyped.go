package ddata

import (
	"context"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator"
	"github.com/coterie-go/coterie/replicator/effect"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// The methods of a Replicator are the functions of the same names without a type, for callers that
// bring their own views and mutations.

// Get is the function Get without a type.
func (r *Replicator) Get(ctx context.Context, key string, level ReadLevel) (crdt.Reader, error) {
	if level == ReadLocal {
		return r.local(ctx, key)
	}
	res, err := r.request(ctx, "get", key, quorum.Level(level), nil, nil,
		func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
			return replicator.Get{ID: id, Key: key, Read: quorum.Level(level), Timeout: timeout}
		})
	return res.Reader, err
}

// Update is the function Update without a type; crdt.Mutate makes an fn of a typed one.
func (r *Replicator) Update(ctx context.Context, key string, level WriteLevel, fn func(*crdt.Tx) error) error {
	_, err := r.update(ctx, key, level, fn, nil)
	return err
}

// UpdateThenLook is an Update at WriteMajority, and a read of the key, which takes no second round
// trip while nothing is new here that the acks tell of. The read sees every write that a majority
// had acknowledged before UpdateThenLook began. And if another node writes at WriteMajority and then
// reads at ReadLinearizable, one of the two sees what the other one wrote. After an error of the
// read the update has happened.
//
// look gets the state, which is valid until look returns. It runs on the replica's goroutine, as fn
// does, so it must be short. It runs at most once, and not after UpdateThenLook has returned. Its
// error, or crdt.ErrPanic, is an error of the read. What it found counts only if there is no error.
func (r *Replicator) UpdateThenLook(
	ctx context.Context, key string, fn func(*crdt.Tx) error, look func(crdt.Reader) error,
) error {
	var looked error
	res, err := r.update(ctx, key, WriteMajority, fn, func(s crdt.Reader) { looked = crdt.Look(s, look) })
	switch {
	case err != nil:
		return err
	case !res.Read:
		s, err := r.Get(ctx, key, ReadMajority)
		if err != nil {
			return err
		}
		looked = crdt.Look(s, look)
	}
	return looked
}

func (r *Replicator) update(
	ctx context.Context, key string, level WriteLevel, fn func(*crdt.Tx) error, look func(crdt.Reader),
) (effect.Result, error) {
	l := quorum.Level(level)
	return r.request(ctx, "update", key, l, fn, look,
		func(id uint64, timeout time.Duration, run func(*crdt.Tx) error) replicator.Input {
			return replicator.Update{ID: id, Key: key, Mutate: run, Write: l, ThenGet: look != nil, Timeout: timeout}
		})
}

// Delete is the function Delete without a type.
func (r *Replicator) Delete(ctx context.Context, key string, level WriteLevel) error {
	_, err := r.request(ctx, "delete", key, quorum.Level(level), nil, nil,
		func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
			return replicator.Delete{ID: id, Key: key, Write: quorum.Level(level), Timeout: timeout}
		})
	return err
}

// DeleteForever is the function DeleteForever without a type.
func (r *Replicator) DeleteForever(ctx context.Context, key string, level WriteLevel) error {
	_, err := r.request(ctx, "delete forever", key, quorum.Level(level), nil, nil,
		func(id uint64, timeout time.Duration, _ func(*crdt.Tx) error) replicator.Input {
			return replicator.DeleteForever{ID: id, Key: key, Write: quorum.Level(level), Timeout: timeout}
		})
	return err
}
