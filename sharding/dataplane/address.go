package dataplane

import (
	"context"
	"sync/atomic"

	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
)

// Address is the id of an entity with the way to it.
type Address struct {
	ID     string
	Number uint32 // of its shard
	err    error  // the id is invalid
	found  atomic.Pointer[found]
}

// found is where the entity was last.
type found struct {
	rt *routes.Route
	e  *entities.Entity
}

// AddressTo readies an address. An invalid id is reported by its use.
func (r *Plane) AddressTo(a *Address, id string) {
	a.ID, a.err = id, CheckID(id)
	if a.err == nil {
		a.Number = r.Routes.ShardOf(id)
	}
}

// SendTo is send to an address that is kept.
func (r *Plane) SendTo(ctx context.Context, a *Address, env mailbox.Envelope) error {
	if err := ctx.Err(); err != nil {
		return r.explain(a.Number, err)
	}
	if _, err := r.Registry.Of(env.Msg); err != nil {
		return err
	}
	if at := a.found.Load(); at != nil && r.Routes.Slots[a.Number].Load() == at.rt {
		if at.e.Accept(env, 0) == mailbox.Accepted {
			return nil
		}
	}
	if a.err != nil {
		return a.err
	}
	rt := r.Routes.Slots[a.Number].Load()
	if rt != nil && rt.Local != nil {
		switch v, e := rt.Local.Deliver(a.ID, env, 0); v {
		case mailbox.Accepted:
			a.found.Store(&found{rt, e})
			return nil
		}
	}
	return r.sendSlow(ctx, a.Number, a.ID, env)
}
