package sharding

// replyStatus is what a reply frame says; everything but statusOK comes with a text.
type replyStatus uint8

// What can become of a question.
const (
	statusOK replyStatus = iota
	statusHandler
	statusNoReply
	statusFull
	statusStopped
	statusUnregistered
	statusInvalidID
	statusEncoding
	statusLost
	statusReplyType
	statusTooLarge
	statusMoving
	statusNoLease
	statusKnown // the text is that of one of EntityType.Errors, a zero byte, and that of the cause
	statusUnsent
	statusEnd
)
