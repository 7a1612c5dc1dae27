package sharding

import (
	"context"
	"sync/atomic"
)

// address is the id of an entity with the way to it.
type address struct {
	id     string
	number uint32 // of its shard
	err    error  // the id is invalid
	found  atomic.Pointer[found]
}

// found is where the entity was last.
type found struct {
	rt *route
	e  *entity
}

// addressTo readies an address. An invalid id is reported by its use.
func (r *core) addressTo(a *address, id string) {
	a.id, a.err = id, checkID(id)
	if a.err == nil {
		a.number = r.routes.shardOf(id)
	}
}

// sendTo is send to an address that is kept.
func (r *core) sendTo(ctx context.Context, a *address, env envelope) error {
	if err := ctx.Err(); err != nil {
		return r.explain(a.number, err)
	}
	if _, err := r.reg.Of(env.msg); err != nil {
		return err
	}
	if at := a.found.Load(); at != nil && r.routes.slots[a.number].Load() == at.rt {
		if at.e.accept(env, 0) == accepted {
			return nil
		}
	}
	if a.err != nil {
		return a.err
	}
	rt := r.routes.slots[a.number].Load()
	if rt != nil && rt.local != nil {
		switch v, e := rt.local.deliver(a.id, env, 0); v {
		case accepted:
			a.found.Store(&found{rt, e})
			return nil
		}
	}
	return r.sendSlow(ctx, a.number, a.id, env)
}
