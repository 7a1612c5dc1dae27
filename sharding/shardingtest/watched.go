package shardingtest

import "github.com/coterie-go/coterie/sharding"

// Watch returns an entity that does what e does. received is called before each message that e handles, and
// stopped, if there is one, before its Stop, whether e is a Stopper or not. It is for what stands before a
// user's entities in a test. Watch of nil is nil.
func Watch[M any](
	e sharding.Entity[M], received func(*sharding.Context[M], M), stopped func(*sharding.Context[M]),
) sharding.Entity[M] {
	w := watched[M]{e, received, stopped}
	switch e.(type) {
	case nil:
		return nil
	case sharding.Carrier[M]:
		return watchedCarrier[M]{w}
	}
	return w
}

// watched is an entity that is watched.
type watched[M any] struct {
	user     sharding.Entity[M]
	received func(*sharding.Context[M], M)
	stopped  func(*sharding.Context[M]) // nil: it is not told
}

var (
	_ sharding.Stopper[int]   = watched[int]{}
	_ sharding.Continuer[int] = watched[int]{}
	_ sharding.Carrier[int]   = watchedCarrier[int]{}
)

// Receive implements sharding.Entity.
func (e watched[M]) Receive(c *sharding.Context[M], msg M) error {
	e.received(c, msg)
	return e.user.Receive(c, msg)
}

// Stop implements sharding.Stopper.
func (e watched[M]) Stop(c *sharding.Context[M]) error {
	if e.stopped != nil {
		e.stopped(c)
	}
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
