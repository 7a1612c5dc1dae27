package failure

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/allocation"
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

// NoShard is the Shard of a Drop that belongs to none.
const NoShard allocation.ShardID = math.MaxUint32

// Drop is one lost message.
type Drop struct {
	Type, ID string             // ID is empty for replies
	Shard    allocation.ShardID // NoShard for what belongs to none, such as replies
	Reason   DropReason
	Message  any // nil when it was dropped in encoded form
}

var _ events.Loss = Drop{}

// Lost implements events.Loss.
func (Drop) Lost() uint64 { return 1 }

// Line implements events.Event.
func (d Drop) Line() events.Line {
	attrs := []slog.Attr{
		slog.String("type", d.Type), slog.String("id", d.ID), slog.Any("shard", d.Shard),
		slog.String("reason", d.Reason.String()),
	}
	if d.Message != nil {
		attrs = append(attrs, slog.String("message", fmt.Sprintf("%T", d.Message)))
	}
	return events.Line{Level: slog.LevelDebug, Message: "message dropped", Attrs: attrs}
}

func (d Drop) String() string {
	shard := "-"
	if d.Shard != NoShard {
		shard = fmt.Sprint(d.Shard)
	}
	text := fmt.Sprintf("%s/%s/%q dropped: %s", d.Type, shard, d.ID, d.Reason)
	if d.Message == nil {
		return text
	}
	return fmt.Sprintf("%s (%T)", text, d.Message)
}

// Drops counts lost messages by reason and tells the user's hook. Its methods are safe for
// concurrent use.
type Drops struct {
	typ    string // the entity type's name
	counts [dropReasons]atomic.Uint64
	hook   events.Listener // gets each Drop; nil: none

	Defects defect.Set // planted by a test, before the first drop
}

// NewDrops makes the counts of an entity type. hook gets a Drop for each message that is lost, on
// the goroutine that lost it; nil: none is made.
func NewDrops(typ string, hook events.Listener) *Drops { return &Drops{typ: typ, hook: hook} }

// Drop counts a message that is lost. shard is NoShard if it belongs to none, and msg is nil if it is
// lost in encoded form.
func (d *Drops) Drop(reason DropReason, shard allocation.ShardID, id string, msg any) {
	if d.Defects.Planted(defect.DropsUncounted) {
		return
	}
	d.counts[reason].Add(1)
	if d.hook != nil {
		d.hook(Drop{Type: d.typ, ID: id, Shard: shard, Reason: reason, Message: msg})
	}
}

// Count is how many messages were lost for that reason.
func (d *Drops) Count(reason DropReason) uint64 { return d.counts[reason].Load() }

// All lists the counts of all reasons, those that never happened among them.
func (d *Drops) All() iter.Seq2[DropReason, uint64] {
	return func(yield func(DropReason, uint64) bool) {
		for reason := range dropReasons {
			if !yield(reason, d.Count(reason)) {
				return
			}
		}
	}
}

// NoRoom is ErrBufferFull of a mailbox, with the reason for which the message is dropped.
type NoRoom struct{ Reason DropReason }

var _ error = NoRoom{}

// Error implements error.
func (n NoRoom) Error() string { return ErrBufferFull.Error() }

// Unwrap has ErrBufferFull found by errors.Is.
func (n NoRoom) Unwrap() error { return ErrBufferFull }

// DropOf is the reason of a drop because of what the message is, or because of what has no room for
// it.
func DropOf(err error) DropReason {
	var panicked *codec.Panic
	var room NoRoom
	switch {
	case errors.As(err, &room):
		return room.Reason
	case errors.As(err, &panicked):
		return DropCodecPanic
	case errors.Is(err, ErrUnregisteredMessage):
		return DropUnregistered
	case errors.Is(err, ErrMessageTooLarge):
		return DropTooLarge
	}
	return DropUndecodable
}
