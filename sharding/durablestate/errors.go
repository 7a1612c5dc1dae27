package durablestate

import (
	"errors"

	"github.com/coterie-go/coterie/sharding/persistence/incarnation"
)

// ErrConfig: a Behavior is incomplete or out of bounds. The message lists every fault.
var ErrConfig = errors.New("durablestate: invalid behavior")

// Failure is why an entity could not read or write its state; its Seq is the revision. See errors.Is
// for its cause, which may be one of package persistence, one of package schema, a
// *sharding.PanicError of an up-caster, or the store's own.
type Failure = incarnation.Failure
