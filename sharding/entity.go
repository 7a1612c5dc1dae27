package sharding

import "github.com/coterie-go/coterie/sharding/dataplane"

// Entity is what users write: the state of one id and its behaviour. Receive is called for one
// message at a time. An error, like a panic, is a failure and meets EntityType.Supervision; an
// error that only concerns the caller belongs into the reply.
type Entity[M any] interface {
	Receive(c *Context[M], msg M) error
}

// Stopper is implemented by entities that have something to do when they end in order: passivation,
// hand-off, stop of the region. It is called once, after the last message, and not after a failure.
// Effects of the context are possible while the lease holds.
type Stopper[M any] interface {
	Stop(c *Context[M]) error
}

// Request is a message that is answered with an R. Reply is never called: it says the type, so that
// the compiler checks it.
//
//	type Total struct{ sharding.Returns[int] }
type Request[R any] interface {
	Reply(R)
}

// Returns makes the struct that embeds it a Request answered with an R. It has no size and nothing
// of it travels.
type Returns[R any] struct{}

// Reply implements Request.
func (Returns[R]) Reply(R) {}

// Supervision says what happens to an entity whose handler failed.
type Supervision uint8

const (
	// SuperviseDefault is Restart for types that remember their entities and Stop for the others.
	SuperviseDefault Supervision = iota
	// SuperviseStop drops the incarnation; the next message makes a new one.
	SuperviseStop
	// SuperviseRestart makes a new incarnation after a backoff; messages wait meanwhile.
	SuperviseRestart
	// SuperviseResume keeps the incarnation as it is and goes on with the next message.
	SuperviseResume
	// SuperviseEscalate takes the failure for one of the whole shard: the incarnation is dropped,
	// as with SuperviseStop, and those of all other entities of the shard end in order as soon as
	// their handlers, whose contexts are cancelled, return. Messages wait, and make new ones;
	// remembered entities start again without, after EntityType.Remember.RestartBackoff.
	SuperviseEscalate
)

// policies are what Supervisions ask for. The default was replaced before.
var policies = map[Supervision]dataplane.Policy{
	SuperviseStop: dataplane.StopFailed, SuperviseRestart: dataplane.RestartFailed,
	SuperviseResume: dataplane.ResumeFailed, SuperviseEscalate: dataplane.EscalateFailed,
}

// supervisionOf is the Supervision that asks for a policy.
func supervisionOf(p dataplane.Policy) Supervision {
	for s, asked := range policies { // order: one has it
		if asked == p {
			return s
		}
	}
	return SuperviseDefault
}

func (s Supervision) String() string {
	switch s {
	case SuperviseStop:
		return "stop"
	case SuperviseRestart:
		return "restart"
	case SuperviseResume:
		return "resume"
	case SuperviseEscalate:
		return "escalate"
	default:
		return "default"
	}
}
