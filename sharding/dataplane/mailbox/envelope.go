package mailbox

import "github.com/coterie-go/coterie/sharding/codec"

// Envelope is one message in a mailbox.
type Envelope struct {
	Msg    any
	Call   uint64 // the question that it is, 0 for a tell
	Origin uint64 // the node that asked
}

// Marks in envelope.call; no question has these ids, and frames with them are malformed.
const (
	ReminderCall = codec.CallMax + iota // a reminder has come, and stays in its store until it is handled
	TimerCall                           // a Timer of the incarnation, or its receive timeout: no activity
	ControlCall                         // a control envelope
)

// Internal reports whether the envelope is this package's own: neither a user's message nor a
// question.
func (e *Envelope) Internal() bool { return e.Call == ControlCall || e.Call == TimerCall }
