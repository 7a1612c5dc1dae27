package sharding

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/coterie-go/coterie/sharding/codec"
)

// DropReason says why a message was lost.
type DropReason uint8

const (
	// DropMailboxFull: the entity's mailbox had no room for a message from another node.
	DropMailboxFull DropReason = iota
	// DropMailboxBytes: the entity's mailbox holds as many bytes of other nodes' messages as it may
	// (EntityType.MailboxBytes).
	DropMailboxBytes
	// DropRegionFull: all mailboxes of the region together do (EntityType.RegionBytes).
	DropRegionFull
	// DropNodeFull: all mailboxes of the node together do (LimitMailboxes).
	DropNodeFull
	// DropBufferFull: the region's buffer for unknown and moving homes had no room.
	DropBufferFull
	// DropQueueFull: the connection to the home had no room for a message that could not wait.
	DropQueueFull
	// DropStopped: the region stopped with the message in a buffer or a mailbox, or had stopped
	// when it came.
	DropStopped
	// DropTooManyHops: the message was forwarded from region to region too often.
	DropTooManyHops
	// DropUndecodable: the bytes from another node are no message of this type, or a message that
	// waited could not be encoded.
	DropUndecodable
	// DropTooLarge: a message that waited, or is passed on, is larger than a frame may be.
	DropTooLarge
	// DropUnregistered: another node sent a message type that is not registered here.
	DropUnregistered
	// DropInvalidID: another node sent an id that is empty, too long or not UTF-8.
	DropInvalidID
	// DropForced: the node gave its shard up by force (removed from the view) with the message in a
	// mailbox.
	DropForced
	// DropNodeLost: the message was sent to a node that has been removed. It may have been handled
	// there before.
	DropNodeLost
	// DropUnsent: the message waited for the connection to such a node and was never sent, so no
	// entity has handled it. It could not wait for the shard's next home: what was told after it
	// had gone there, or the buffer was full.
	DropUnsent
	// DropLateReply: a reply came after its caller had given up.
	DropLateReply
	// DropReplyUnsent: a reply could not be put on the connection to its caller.
	DropReplyUnsent
	// DropPostUnsent: an answer of Context.Post could not be put on the connection to its node.
	DropPostUnsent
	// DropNoBox: such an answer came for a box that is not open.
	DropNoBox
	// DropInbox: too many messages of the same node waited for the region or its coordinator, which
	// asks again for what matters.
	DropInbox
	// DropLeaseLost: the shard lost its lease with the message in a mailbox.
	DropLeaseLost
	// DropEnded: the whole cluster shuts down, and the message was for a shard that has ended.
	DropEnded
	// DropCodecPanic: the user's decoder panicked on the bytes of another node, or the user's
	// encoder on a message that waited.
	DropCodecPanic
	// DropUnanswered: a handler had taken a question by Context.Responder for longer than
	// EntityType.AskTimeout, and newer ones needed its place.
	DropUnanswered
	dropReasons
)

var dropNames = [dropReasons]string{
	"mailbox full", "mailbox holds too many bytes", "mailboxes of the region hold too many bytes", "mailboxes of the node hold too many bytes", "buffer full", "queue full", "stopped", "too many hops", "undecodable", "too large", "unregistered type", "invalid id",
	"shard given up by force", "node lost", "unsent", "late reply", "reply unsent",
	"post unsent", "no such box", "inbox full", "shard lost its lease", "the cluster shuts down and the shard has ended",
	"codec panicked", "question not answered",
}

func (r DropReason) String() string {
	if r < dropReasons {
		return dropNames[r]
	}
	return fmt.Sprintf("DropReason(%d)", uint8(r))
}

// Drop is one lost message.
type Drop struct {
	Type, ID string // ID is empty for replies
	Shard    int    // -1 for replies
	Reason   DropReason
	Message  any // nil when it was dropped in encoded form
}

func (d Drop) String() string {
	return fmt.Sprintf("%s/%d/%q dropped: %s (%T)", d.Type, d.Shard, d.ID, d.Reason, d.Message)
}

// drops counts by reason and tells the user's hook.
type drops struct {
	typ    string // the entity type's name
	counts [dropReasons]atomic.Uint64
	hook   func(Drop) // the user's; nil: no hook
}

func (d *drops) drop(reason DropReason, shard int, id string, msg any) {
	d.counts[reason].Add(1)
	if d.hook != nil {
		d.hook(Drop{Type: d.typ, ID: id, Shard: shard, Reason: reason, Message: msg})
	}
}

// drop returns the reason of a drop for want of room in a mailbox; is is false for the other
// verdicts.
func (v verdict) drop() (reason DropReason, is bool) {
	switch v {
	case full:
		return DropMailboxFull, true
	case heavy:
		return DropMailboxBytes, true
	case heavyRegion:
		return DropRegionFull, true
	case heavyNode:
		return DropNodeFull, true
	}
	return 0, false
}

// noRoom is ErrBufferFull of a mailbox, with what was full.
type noRoom struct{ v verdict }

var _ error = (*noRoom)(nil)

// Error implements error.
func (n *noRoom) Error() string { return ErrBufferFull.Error() }

// Unwrap implements errors.
func (n *noRoom) Unwrap() error { return ErrBufferFull }

// dropOf is the reason of a drop because of what the message is, or because of what has no room for
// it.
func dropOf(err error) DropReason {
	var panicked *codec.Panic
	var room *noRoom
	switch {
	case errors.As(err, &room):
		reason, _ := room.v.drop()
		return reason
	case errors.As(err, &panicked):
		return DropCodecPanic
	case errors.Is(err, ErrUnregisteredMessage):
		return DropUnregistered
	case errors.Is(err, ErrMessageTooLarge):
		return DropTooLarge
	}
	return DropUndecodable
}
