package failure

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/sharding/codec"
)

// Errors of a message before it leaves the caller. Package sharding explains them, and those below.
var (
	ErrInvalidID           = errors.New("sharding: invalid entity id")
	ErrUnregisteredMessage = codec.ErrUnregistered
	ErrMessageTooLarge     = errors.New("sharding: message too large")
	ErrEncoding            = codec.ErrEncoding
)

// Errors of delivery.
var (
	ErrBufferFull  = errors.New("sharding: buffer full")
	ErrMoving      = errors.New("sharding: shard is moving")
	ErrUnknownRole = errors.New("sharding: unknown role")
	ErrRemembering = errors.New("sharding: remembered ids cannot be read or written")
	ErrStopped     = errors.New("sharding: region stopped")
	ErrNoLease     = errors.New("sharding: lease not held")
	ErrNodeGone    = errors.New("sharding: node left before it answered")
	ErrUnsent      = fmt.Errorf("%w: the message was not sent", ErrNodeGone)
)

// ErrHandlerReturned is that of effects of a Context. Package sharding explains it.
var ErrHandlerReturned = errors.New("sharding: the handler has returned, and its Context has no effect any more")

// ErrAwaiting is that of a second Context.Await. Package sharding explains it.
var ErrAwaiting = errors.New("sharding: the message at hand waits for a result already")

// Errors of an Ask.
var (
	ErrTimeout     = errors.New("sharding: no reply in time")
	ErrNoReply     = errors.New("sharding: handler gave no reply")
	ErrHandler     = errors.New("sharding: handler failed")
	ErrReplyType   = errors.New("sharding: wrong reply type")
	ErrTooManyAsks = errors.New("sharding: too many questions under way")
	ErrNotAsked    = errors.New("sharding: no question is open: the message was told, or was answered before")
)
