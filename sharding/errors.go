package sharding

import (
	"errors"

	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/remind"
	"github.com/coterie-go/coterie/sharding/remind/rehash"
)

// Errors of Start: the configuration is wrong, or does not fit the node.
var (
	// ErrConfig: the EntityType is incomplete or out of bounds. The message lists every fault.
	ErrConfig = errors.New("sharding: invalid entity type")
	// ErrAlreadyStarted: the type's name is already in use on this node with other settings or
	// another message type, or by a region that was closed while handlers run.
	ErrAlreadyStarted = errors.New("sharding: entity type already started")
	// ErrNotStarted: no type of that name runs on this node; Start or StartProxy starts it.
	ErrNotStarted = errors.New("sharding: entity type not started")
)

// Errors of a message before it leaves the caller.
var (
	// ErrInvalidID: an entity id is 1 to 512 bytes of UTF-8; the message says which of these it is
	// not.
	ErrInvalidID = failure.ErrInvalidID
	// ErrUnregisteredMessage: the concrete type of the message was not among the examples given to
	// CBOR.
	ErrUnregisteredMessage = failure.ErrUnregisteredMessage
	// ErrMessageTooLarge: the encoded message is larger than transport.DefaultMessageMax, 16 MiB.
	ErrMessageTooLarge = failure.ErrMessageTooLarge
	// ErrEncoding: the message could not be encoded or decoded.
	ErrEncoding = failure.ErrEncoding
)

// Errors of delivery. The message was not handled, unless the text of the constant says otherwise.
var (
	// ErrBufferFull: a bounded mailbox, buffer or connection queue has no room. Inside a handler at
	// once, outside when the context ends, whose error it wraps then.
	ErrBufferFull = failure.ErrBufferFull
	// ErrMoving: a handler of a shard that is being handed off asked an entity whose shard is
	// moving too; waiting could never end.
	ErrMoving = failure.ErrMoving
	// ErrUnknownRole: the message waited for a home until its context ended, and no member of the
	// view has the type's role, so no node can host it. Usual cause: a misspelt Role.
	ErrUnknownRole = failure.ErrUnknownRole
	// ErrRemembering: the shard cannot read or write its remembered ids, and goes on trying; what
	// waits for it is kept. The usual cause is that no majority of the role's nodes answers, or
	// that the remember.Store fails.
	ErrRemembering = failure.ErrRemembering
	// ErrStopped: the region has stopped (the node leaves, was removed, or Region.Close was
	// called), or the shard has, because the whole cluster shuts down. The message of a region of
	// this node names the entity type and the reason.
	ErrStopped = failure.ErrStopped
	// ErrNoLease: this node does not hold its lease now, so no effect of a handler may happen.
	ErrNoLease = failure.ErrNoLease
	// ErrNodeGone: the node that was asked has been removed from the cluster, and had not left in
	// order; or it has left, and the handler that had taken the question by Context.Responder did
	// not answer it. Whether the message was handled is unknown.
	ErrNodeGone = failure.ErrNodeGone
	// ErrUnsent is an ErrNodeGone of a message that was never sent to that node: no entity has
	// handled it, so it can be sent again.
	ErrUnsent = failure.ErrUnsent
)

// Errors of an Ask. Whether the message was handled is unknown, except where said.
var (
	// ErrTimeout: no answer within the deadline.
	ErrTimeout = failure.ErrTimeout
	// ErrNoReply: the handler ended without Reply and without Responder.
	ErrNoReply = failure.ErrNoReply
	// ErrHandler: the handler returned an error or panicked; the text follows.
	ErrHandler = failure.ErrHandler
	// ErrReplyType: Reply was called with a value that is not of the request's reply type.
	ErrReplyType = failure.ErrReplyType
	// ErrTooManyAsks: the region's bound on questions under way is reached.
	ErrTooManyAsks = failure.ErrTooManyAsks
	// ErrNotAsked: Reply, Fail or Responder in a handler of a message that was told, or whose
	// question was answered, or taken by Responder, before.
	ErrNotAsked = failure.ErrNotAsked
	// ErrHandlerReturned: an effect of a Context whose handler has returned, or whose incarnation has
	// ended. Take a Responder to answer later, and Region.Tell for what is sent beside the handler.
	ErrHandlerReturned = failure.ErrHandlerReturned
	// ErrAwaiting: a second Context.Await during one message.
	ErrAwaiting = failure.ErrAwaiting
	// ErrGoexit: the handler ended its goroutine; it is the Value of a PanicError.
	ErrGoexit = failure.ErrGoexit
)

// Errors of Context.Remind. The reminder is as it was.
var (
	// ErrInvalidReminder: the name is not 1 to 255 bytes of UTF-8, the period is below 10 ms, the time is
	// not between the years 1678 and 2261, or the encoded message has more than 64 KiB.
	ErrInvalidReminder = remind.ErrInvalid
	// ErrTooManyReminders: the entity has as many as EntityType.Reminders.EntityMax, or the store is far
	// behind.
	ErrTooManyReminders = remind.ErrTooMany
	// ErrRemindersMoving: Shards or ShardOf has changed, and not all reminders are in the shards of their entities yet.
	ErrRemindersMoving = rehash.ErrMoving
)
