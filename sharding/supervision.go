package sharding

import (
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/failure"
)

// Directive is what is done about a failed handler.
type Directive = entities.Directive

// The directives.
const (
	// DefaultDirective is Restart for types that remember their entities and Stop for the others.
	DefaultDirective = entities.DefaultDirective
	// Stop drops the incarnation; the next message makes a new one. A remembered entity starts again
	// without a message after Remember.RestartBackoff.
	Stop = entities.Stop
	// Restart makes a new incarnation after a backoff; messages wait meanwhile.
	Restart = entities.Restart
	// Resume keeps the incarnation as it is and goes on with the next message. If New has failed,
	// that message makes the incarnation.
	Resume = entities.Resume
	// Escalate takes the failure for one of the whole shard: the incarnation is dropped, as with
	// Stop, and those of all other entities of the shard end in order as soon as their handlers,
	// whose contexts are cancelled, return. Messages wait, and make new ones; remembered entities
	// start again without, after EntityType.Remember.RestartBackoff.
	Escalate = entities.Escalate
)

// Always is a Supervision.Decide that gives every failure the same answer.
func Always(d Directive) func(err error) Directive { return entities.Always(d) }

// PanicError is the failure of a handler that has panicked. If it has ended its goroutine by
// runtime.Goexit in place of returning, as a test's Fatal does, Value is ErrGoexit.
type PanicError = failure.PanicError

// Failure is one failed handler.
type Failure = entities.Failure
