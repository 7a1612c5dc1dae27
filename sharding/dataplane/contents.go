package dataplane

import (
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/routes"
)

// Contents calls fn for each message that waits in a buffer or in a mailbox, in any order and
// perhaps twice: with its envelope or, if it is encoded, with raw. It is for simulations, in which
// nothing runs meanwhile.
func (r *Plane) Contents(fn func(env mailbox.Envelope, raw *codec.Message)) {
	for i := range r.Routes.Slots {
		if rt := r.Routes.Slots[i].Load(); rt != nil && rt.Buffer != nil {
			for _, list := range [][]routes.BufferedMessage{rt.Buffer.Returned, rt.Buffer.Messages} {
				for _, p := range list {
					fn(p.Env, p.Raw)
				}
			}
		}
	}
	of := func(e *entities.Entity) {
		e.Each(func(env mailbox.Envelope) { fn(env, nil) })
	}
	for _, s := range r.Routes.Shards() {
		for _, e := range s.All() {
			of(e)
		}
	}
	r.Entities.Pool.Each(of) // of shards that were closed, perhaps
}
