package failure

import (
	"fmt"

	"github.com/coterie-go/coterie/sharding/codec"
)

// statusErrors are what the asker gets, by status.
var statusErrors = [codec.StatusEnd]error{
	nil, ErrHandler, ErrNoReply, ErrBufferFull, ErrStopped, ErrUnregisteredMessage, ErrInvalidID, ErrEncoding,
	ErrNodeGone, ErrReplyType,
	ErrMessageTooLarge, ErrMoving, ErrNoLease, ErrHandler, ErrUnsent,
}

// StatusOf is what the asker is told of a message that was lost.
func StatusOf(reason DropReason) codec.ReplyStatus {
	switch reason {
	case DropMailboxFull, DropMailboxBytes, DropRegionFull, DropNodeFull, DropBufferFull, DropQueueFull, DropInbox:
		return codec.StatusFull
	case DropStopped, DropForced, DropEnded:
		return codec.StatusStopped
	case DropLeaseLost:
		return codec.StatusNoLease
	case DropUndecodable, DropCodecPanic:
		return codec.StatusEncoding
	case DropTooLarge:
		return codec.StatusTooLarge
	case DropUnregistered:
		return codec.StatusUnregistered
	case DropInvalidID:
		return codec.StatusInvalidID
	case DropUnsent:
		return codec.StatusUnsent
	default:
		return codec.StatusLost
	}
}

// OfStatus is what the asker gets of a status and its text.
func OfStatus(s codec.ReplyStatus, text string) error {
	if s >= codec.StatusEnd {
		return fmt.Errorf("%w: unknown reply status %d: %s", ErrEncoding, s, text)
	}
	if text == "" {
		return statusErrors[s]
	}
	return fmt.Errorf("%w: %s", statusErrors[s], text)
}
