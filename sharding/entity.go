package sharding

// Entity is what users write: the state of one id and its behaviour. Receive is called for one
// message at a time. An error, like a panic, is a failure, about which EntityType.Supervision
// decides; an error that only concerns the caller belongs into the reply.
type Entity[M any] interface {
	Receive(c *Context[M], msg M) error
}

// Stopper is implemented by entities that have something to do when they end in order: passivation,
// hand-off, stop of the region. It is called once, after the last message, and not after a failure.
// Effects of the context are possible while the lease holds.
type Stopper[M any] interface {
	Stop(c *Context[M]) error
}

// Request is a message of a type's M that is answered with an R. Reply is never called: it says
// both types, so that the compiler checks them.
//
//	type Total struct{ sharding.Returns[Command, int] }
type Request[M, R any] interface {
	Reply(M, R)
}

// Returns makes the struct that embeds it a Request of an M, answered with an R. It has no size and
// nothing of it travels.
type Returns[M, R any] struct{}

// Reply implements Request.
func (Returns[M, R]) Reply(M, R) {}
