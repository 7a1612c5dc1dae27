package sharding

import "github.com/coterie-go/coterie/sharding/failure"

// DropReason says why a message was lost.
type DropReason = failure.DropReason

// The reasons.
const (
	// DropMailboxFull: the entity's mailbox had no room for a message from another node.
	DropMailboxFull = failure.DropMailboxFull
	// DropMailboxBytes: the entity's mailbox holds as many bytes of other nodes' messages as it may
	// (EntityType.Limits.MailboxBytes).
	DropMailboxBytes = failure.DropMailboxBytes
	// DropRegionFull: all mailboxes of the region together do (EntityType.Limits.RegionBytes).
	DropRegionFull = failure.DropRegionFull
	// DropNodeFull: all mailboxes of the node together do (LimitMailboxes).
	DropNodeFull = failure.DropNodeFull
	// DropBufferFull: the region's buffer for unknown and moving homes had no room.
	DropBufferFull = failure.DropBufferFull
	// DropQueueFull: the connection to the home had no room for a message that could not wait.
	DropQueueFull = failure.DropQueueFull
	// DropStopped: the region stopped with the message in a buffer or a mailbox, or had stopped
	// when it came.
	DropStopped = failure.DropStopped
	// DropTooManyHops: the message was forwarded from region to region too often.
	DropTooManyHops = failure.DropTooManyHops
	// DropUndecodable: the bytes from another node are no message of this type, or a message that
	// waited could not be encoded.
	DropUndecodable = failure.DropUndecodable
	// DropTooLarge: a message that waited, or is passed on, is larger than a frame may be.
	DropTooLarge = failure.DropTooLarge
	// DropUnregistered: another node sent a message type that is not registered here.
	DropUnregistered = failure.DropUnregistered
	// DropInvalidID: another node sent an id that is empty, too long or not UTF-8.
	DropInvalidID = failure.DropInvalidID
	// DropForced: the node gave its shard up by force (removed from the view) with the message in a
	// mailbox.
	DropForced = failure.DropForced
	// DropNodeLost: the message was sent to a node that has been removed. It may have been handled
	// there before.
	DropNodeLost = failure.DropNodeLost
	// DropUnsent: the message waited for the connection to such a node and was never sent, so no
	// entity has handled it. It could not wait for the shard's next home: what was told after it
	// had gone there, or the buffer was full.
	DropUnsent = failure.DropUnsent
	// DropLateReply: a reply came after its caller had given up.
	DropLateReply = failure.DropLateReply
	// DropReplyUnsent: a reply could not be put on the connection to its caller.
	DropReplyUnsent = failure.DropReplyUnsent
	// DropPostUnsent: an answer of Context.Post could not be put on the connection to its node.
	DropPostUnsent = failure.DropPostUnsent
	// DropNoBox: such an answer came for a box that is not open.
	DropNoBox = failure.DropNoBox
	// DropInbox: too many messages of the same node waited for the region or its coordinator, which
	// asks again for what matters.
	DropInbox = failure.DropInbox
	// DropLeaseLost: the shard lost its lease with the message in a mailbox.
	DropLeaseLost = failure.DropLeaseLost
	// DropEnded: the whole cluster shuts down, and the message was for a shard that has ended.
	DropEnded = failure.DropEnded
	// DropCodecPanic: the user's decoder panicked on the bytes of another node, or the user's
	// encoder on a message that waited.
	DropCodecPanic = failure.DropCodecPanic
	// DropUnanswered: a handler had taken a question by Context.Responder for longer than
	// EntityType.Timeouts.Ask, and newer ones needed its place.
	DropUnanswered = failure.DropUnanswered
)

// NoShard is the Shard of a Drop that belongs to none, such as that of a reply.
const NoShard = failure.NoShard

// Drop is one lost message.
type Drop = failure.Drop
