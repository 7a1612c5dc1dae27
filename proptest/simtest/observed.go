package simtest

import (
	"github.com/coterie-go/coterie/sharding"
)

// observed is a user's entity whose messages from others than clients are noted: those stand in the
// history as operations without an answer.
type observed[M, S any] struct {
	sharding.Entity[M]
	c *clients[M, S]
	n *Node
}

// observe stands before an entity, if there is something to note.
func (c *clients[M, S]) observe(n *Node, e sharding.Entity[M]) sharding.Entity[M] {
	if c.e.Internal == nil || e == nil {
		return e
	}
	o := observed[M, S]{e, c, n}
	stopper, stops := e.(sharding.Stopper[M])
	continuer, continues := e.(sharding.Continuer[M])
	switch {
	case stops && continues:
		return struct {
			observed[M, S]
			sharding.Stopper[M]
			sharding.Continuer[M]
		}{o, stopper, continuer}
	case stops:
		return struct {
			observed[M, S]
			sharding.Stopper[M]
		}{o, stopper}
	case continues:
		return struct {
			observed[M, S]
			sharding.Continuer[M]
		}{o, continuer}
	}
	return o
}

// Receive implements sharding.Entity.
func (o observed[M, S]) Receive(x *sharding.Context[M], m M) error {
	if entity, known := numberOf(x.ID()); known && o.c.e.Internal(m) {
		o.c.tell("%s on %v handles %+v", x.ID(), o.n, m)
		o.c.history(entity).begin(o.c.w.Now(), len(o.c.x.acts)+1, m)
	}
	return o.Entity.Receive(x, m)
}
