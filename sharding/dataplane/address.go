package dataplane

import (
	"context"
	"sync/atomic"

	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
)

// Address is the id of an entity with the way to it.
type Address struct {
	ID     string
	Number uint32                          // of its shard
	found  atomic.Pointer[entities.Entity] // where it was last
}

// AddressTo readies an address. An invalid id is reported by its use.
func (r *Plane) AddressTo(a *Address, id string) { a.ID, a.Number = id, r.Routes.ShardOf(id) }

// SendTo is Send to an address that is kept.
func (r *Plane) SendTo(ctx context.Context, a *Address, env mailbox.Envelope) error {
	if err := ctx.Err(); err != nil {
		return r.explain(a.Number, err)
	}
	if _, err := r.Registry.Of(env.Message()); err != nil {
		return err
	}
	if rt := r.Routes.Slots[a.Number].Load(); rt != nil && rt.Local != nil && a.deliver(rt.Local, env) {
		return nil
	}
	if err := CheckID(a.ID); err != nil {
		return err
	}
	return r.sendSlow(ctx, a.Number, a.ID, env)
}

// deliver puts an envelope into the mailbox of the entity if s has it, and it has room. The id of an
// entity is valid.
func (a *Address) deliver(s *entities.Shard, env mailbox.Envelope) bool {
	if e := a.found.Load(); e != nil && e.Shard == s && e.Accept(env, 0) == mailbox.Accepted {
		return true
	}
	e := s.Peek(a.ID)
	if e == nil || codec.Administrative(env.Msg) || e.Accept(env, 0) != mailbox.Accepted {
		return false
	}
	a.found.Store(e)
	return true
}
