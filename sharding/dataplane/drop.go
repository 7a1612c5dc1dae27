package dataplane

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/coterie-go/coterie/sharding/codec"
)

// DropReason says why a message was lost.
type DropReason uint8

// The reasons. Package sharding explains them.
const (
	DropMailboxFull DropReason = iota
	DropMailboxBytes
	DropRegionFull
	DropNodeFull
	DropBufferFull
	DropQueueFull
	DropStopped
	DropTooManyHops
	DropUndecodable
	DropTooLarge
	DropUnregistered
	DropInvalidID
	DropForced
	DropNodeLost
	DropUnsent
	DropLateReply
	DropReplyUnsent
	DropPostUnsent
	DropNoBox
	DropInbox
	DropLeaseLost
	DropEnded
	DropCodecPanic
	DropUnanswered
	dropReasons
)

var dropNames = [dropReasons]string{
	"mailbox full", "mailbox holds too many bytes", "mailboxes of the region hold too many bytes",
	"mailboxes of the node hold too many bytes", "buffer full", "queue full", "stopped", "too many hops", "undecodable",
	"too large", "unregistered type", "invalid id",
	"shard given up by force", "node lost", "unsent", "late reply", "reply unsent",
	"post unsent", "no such box", "inbox full", "shard lost its lease",
	"the cluster shuts down and the shard has ended",
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
	Counts [dropReasons]atomic.Uint64
	Hook   func(Drop) // the user's; nil: no hook

	uncounted bool // a planted defect
}

func (d *drops) Drop(reason DropReason, shard int, id string, msg any) {
	if d.uncounted {
		return
	}
	d.Counts[reason].Add(1)
	if d.Hook != nil {
		d.Hook(Drop{Type: d.typ, ID: id, Shard: shard, Reason: reason, Message: msg})
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

// DropOf is the reason of a drop because of what the message is, or because of what has no room for
// it.
func DropOf(err error) DropReason {
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
