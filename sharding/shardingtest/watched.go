package shardingtest

import "github.com/coterie-go/coterie/sharding"

// watched is an entity under test, of which the kit hears. It does what the user's does.
type watched[M any] struct {
	k    *Kit[M]
	user sharding.Entity[M]
}

var (
	_ sharding.Stopper[int]   = watched[int]{}
	_ sharding.Continuer[int] = watched[int]{}
	_ sharding.Carrier[int]   = watchedCarrier[int]{}
)

// watch returns the entity with what it implements; nil for nil.
func (k *Kit[M]) watch(user sharding.Entity[M]) sharding.Entity[M] {
	switch user.(type) {
	case nil:
		return nil
	case sharding.Carrier[M]:
		return watchedCarrier[M]{watched[M]{k, user}}
	}
	return watched[M]{k, user}
}

// Receive implements sharding.Entity.
func (e watched[M]) Receive(c *sharding.Context[M], msg M) error {
	e.k.note(c.ID(), "handles %s", shown(msg))
	return e.user.Receive(c, msg)
}

// Stop implements sharding.Stopper.
func (e watched[M]) Stop(c *sharding.Context[M]) error {
	e.k.stopped(c.ID())
	if s, is := e.user.(sharding.Stopper[M]); is {
		return s.Stop(c)
	}
	return nil
}

// Continue implements sharding.Continuer.
func (e watched[M]) Continue(c *sharding.Context[M], rest func(*sharding.Context[M]) error) error {
	if s, is := e.user.(sharding.Continuer[M]); is {
		return s.Continue(c, rest)
	}
	return rest(c)
}

// watchedCarrier is one that is a Carrier.
type watchedCarrier[M any] struct{ watched[M] }

// Carried implements sharding.Carrier.
func (e watchedCarrier[M]) Carried(c *sharding.Context[M], body []byte) error {
	return e.user.(sharding.Carrier[M]).Carried(c, body)
}
