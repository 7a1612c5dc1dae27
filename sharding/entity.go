package sharding

import (
	"fmt"
	"reflect"

	"github.com/coterie-go/coterie/sharding/dataplane/entities"
)

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

// Continuer is implemented by entities that stand before another one, and have to know when its
// message is finished. Continue runs rest once, and returns what its own handler would return. The
// rest may have called Context.Await again.
type Continuer[M any] interface {
	Continue(c *Context[M], rest func(*Context[M]) error) error
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

// Awaited is the rest of a handler that has called Context.Await.
type Awaited[M any] struct{ rest *entities.Awaited }

// Await says that the handler waits for a result from outside: it has not finished when it returns
// without an error. Until the rest that Awaited.Continue brings has run, the entity handles nothing
// else. What comes meanwhile waits in its mailbox, in order. The wait takes no worker and no
// goroutine, and has no limit of time.
//
// Receive may await, and the question at hand stays open. New may: then the message that the
// incarnation was made for comes after the rest. If the rest of New fails, so has New. Stop may:
// the incarnation ends after the rest.
//
// What ends an entity in order (passivation, hand-off) waits for the result. What ends it by force
// does not: a hand-off whose time is over, the loss of the shard's lease, the end of the region.
// Then the asker of the question at hand gets ErrHandler, or ErrNoLease, Stop is not called, and
// Continue does nothing. A handler that fails after it has called Await does not wait either.
//
// A hand-off waits for the entity. So the entity must not wait for an Ask that waits for the
// hand-off: give such an Ask this Context, and it fails with ErrMoving.
//
// Errors: those of the effects of a Context; ErrAwaiting for a second call.
func (c *Context[M]) Await() (*Awaited[M], error) {
	if err := c.handler.Refused(); err != nil {
		return nil, err
	}
	rest := c.handler.Await()
	if rest == nil {
		return nil, ErrAwaiting
	}
	return &Awaited[M]{rest}, nil
}

// For says, for people, what the handler waits for: the errors of an Ask that ends meanwhile, and the
// event ResultAwaited, print it, on any goroutine. It is for the handler, before it returns.
func (a *Awaited[M]) For(what fmt.Stringer) { a.rest.For(what) }

// Awaits reports whether the handler at hand has called Await, and waits.
func (c *Context[M]) Awaits() bool { return c.handler.Awaits() }

// Continue has a worker run the rest of the handler, like the handler itself: of the same message, it
// may reply to its question, fail, or await once more. Any goroutine may call Continue, also before
// the handler has returned. The rest runs once the node holds its lease. Continue reports whether it
// will run, unless an end by force comes before; false: the incarnation has ended, or Continue was
// called before.
func (a *Awaited[M]) Continue(rest func(*Context[M]) error) bool {
	return a.rest.Continue(func(i entities.Incarnation) error { return i.(body[M]).c.proceed(rest) })
}

// proceed runs the rest of a handler.
func (c *Context[M]) proceed(rest func(*Context[M]) error) error {
	asked := reflect.TypeFor[M]()
	if q := c.open.at; q != nil && q.typ != nil {
		asked = q.typ.Go
	}
	if k, is := c.user.(Continuer[M]); is {
		return c.settle(c.dropUndecodable(k.Continue(c, rest)), asked)
	}
	return c.settle(rest(c), asked)
}
