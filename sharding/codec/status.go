package codec

// ReplyStatus is what a reply frame says; everything but StatusOK comes with a text.
type ReplyStatus uint8

// What can become of a question.
const (
	StatusOK ReplyStatus = iota
	StatusHandler
	StatusNoReply
	StatusFull
	StatusStopped
	StatusUnregistered
	StatusInvalidID
	StatusEncoding
	StatusLost
	StatusReplyType
	StatusTooLarge
	statusMoving
	StatusNoLease
	StatusKnown // the text is that of one of EntityType.Errors, a zero byte, and that of the cause
	StatusUnsent
	StatusEnd
)
