package dataplane

import "github.com/coterie-go/coterie/sharding/codec"

// Contents calls fn for each message that waits in a buffer or in a mailbox, in any order and
// perhaps twice: with its envelope or, if it is encoded, with raw. It is for simulations, in which
// nothing runs meanwhile.
func (r *Plane) Contents(fn func(env Envelope, raw *codec.Message)) {
	for i := range r.Routes.Slots {
		if rt := r.Routes.Slots[i].Load(); rt != nil && rt.Buffer != nil {
			for _, list := range [][]BufferedMessage{rt.Buffer.Returned, rt.Buffer.Messages} {
				for _, p := range list {
					fn(p.Env, p.Raw)
				}
			}
		}
	}
	of := func(e *Entity) {
		for _, q := range []*queue{&e.taken, &e.Waiting} {
			q.each(&e.First, func(env Envelope) { fn(env, nil) })
		}
	}
	for _, s := range r.Routes.Shards() {
		for _, e := range s.snapshot() {
			of(e)
		}
	}
	for _, b := range r.Pool.busy() { // of a shard that was closed, perhaps
		of(b.e)
	}
	for e := r.Pool.head; e != nil; e = e.next {
		of(e)
	}
}

// each calls fn for what is queued, except control envelopes.
func (q *queue) each(place *Envelope, fn func(Envelope)) {
	if q.lead > 0 && !place.internal() {
		fn(*place)
	}
	for c := q.head; c != nil; c = c.next {
		for _, env := range c.envs[c.from:c.to] {
			if !env.internal() {
				fn(env)
			}
		}
	}
}
