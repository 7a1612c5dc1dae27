package membership

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/message"
)

// Effects is what a step wants done, in the order of the fields. It is reused: valid until the next
// Step. The pointers and slices inside Envelopes and Install may be kept, not modified.
type Effects struct {
	// Persist, if not nil, replaces the record on disk. The driver has it written beside the
	// machine, which goes on, and answers with Persisted. There is no second one before the answer,
	// and none without Config.Disk. The machine holds back what must wait for it (V5); nothing
	// below does. The bytes are the caller's.
	Persist []byte
	Send    []Envelope
	Install []*View          // views that this node has installed and stored, oldest first
	Arbiter []arbitration.Op // for the arbiter's lease: one after the other, after those of earlier steps; nothing waits for them
	Events  []Event          // for the log and for subscribers
	Done    error            // not nil: the machine has ended (ErrDowned, ErrLeft, ErrRefused, ErrStalled, ErrStore)
}

// Envelope is one message to send on the control lane. Messages may be lost. With To set it is for
// that incarnation alone, whether it is a member of the view or not, and must not reach another
// process at the address.
type Envelope struct {
	To   UID    // 0 = the node that listens at Addr
	Addr string // empty only if a Receive came without one
	Msg  message.Message
}

// String prints destination and message.
func (e Envelope) String() string {
	if e.To == 0 {
		return fmt.Sprintf("to %s: %v", e.Addr, e.Msg)
	}
	return fmt.Sprintf("to %v: %v", e.To, e.Msg)
}

// String lists the effects, one a line.
func (e *Effects) String() string {
	var b strings.Builder
	if e.Persist != nil {
		r, err := decodeRecord(e.Persist)
		if err != nil {
			fmt.Fprintf(&b, "persist %v\n", err)
		} else {
			fmt.Fprintf(&b, "persist %v\n", r)
		}
	}
	for _, s := range e.Send {
		fmt.Fprintf(&b, "send %v\n", s)
	}
	for _, v := range e.Install {
		fmt.Fprintf(&b, "install %v\n", v)
	}
	for _, op := range e.Arbiter {
		fmt.Fprintf(&b, "arbiter %v\n", op)
	}
	for _, ev := range e.Events {
		fmt.Fprintf(&b, "event %v\n", ev)
	}
	if e.Done != nil {
		fmt.Fprintf(&b, "done %v\n", e.Done)
	}
	return b.String()
}

func (e *Effects) reset() {
	e.Persist = nil
	e.Send = e.Send[:0]
	e.Install = nil
	e.Arbiter = nil
	e.Events = nil
	e.Done = nil
}
