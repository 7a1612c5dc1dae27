package sharding

import (
	"context"
	"sync/atomic"
)

// EntityRef is an entity's address with the way to it: telling through it saves the checks and
// look-ups of Region.Tell. It follows the entity wherever it moves, may be kept permanently, and is
// safe for concurrent use. It belongs to this process; send the id to others.
type EntityRef[M any] struct {
	region *Region[M]
	id     string
	number uint32
	err    error // the id is invalid
	found  atomic.Pointer[found]
}

// found is where the entity was last.
type found struct {
	rt *route
	e  *entity
}

// ID is the entity's id.
func (f *EntityRef[M]) ID() string { return f.id }

// Tell is Region.Tell.
func (f *EntityRef[M]) Tell(ctx context.Context, msg M) error {
	if h := handlerOf(ctx); h != nil && !h.holds(f.region.core) {
		return ErrNoLease
	}
	return f.send(ctx, envelope{msg: msg})
}

func (f *EntityRef[M]) send(ctx context.Context, env envelope) error {
	r := f.region.core
	if err := ctx.Err(); err != nil {
		return r.explain(f.number, err)
	}
	if _, err := r.reg.Of(env.msg); err != nil {
		return err
	}
	if at := f.found.Load(); at != nil && r.routes.slots[f.number].Load() == at.rt {
		if at.e.accept(env, 0) == accepted {
			return nil
		}
	}
	if f.err != nil {
		return f.err
	}
	rt := r.routes.slots[f.number].Load()
	if rt != nil && rt.local != nil {
		switch v, e := rt.local.deliver(f.id, env, 0); v {
		case accepted:
			f.found.Store(&found{rt, e})
			return nil
		}
	}
	return r.sendSlow(ctx, f.number, f.id, env)
}
