package mailbox

import "github.com/coterie-go/coterie/sharding/codec"

// Envelope is one message in a mailbox.
type Envelope struct {
	Msg    any    // a *Traced if it belongs to a trace; see Open
	Call   uint64 // the question that it is, 0 for a tell
	Origin uint64 // the node that asked
}

// Traced is a message with the header by which it belongs to a trace. It stands in an Envelope in
// place of its message, so that those without one are no larger.
type Traced struct {
	Msg    any
	Header []byte
}

// Open returns the message, and its header; nil: it belongs to no trace.
func (e *Envelope) Open() (msg any, header []byte) {
	if t, is := e.Msg.(*Traced); is {
		return t.Msg, t.Header
	}
	return e.Msg, nil
}

// Message is the message without its header.
func (e *Envelope) Message() any {
	msg, _ := e.Open()
	return msg
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
