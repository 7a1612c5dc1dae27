package membership

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Effects is what a step wants done, in the order of the fields. It is reused: valid until the next
// Step. The pointers and slices inside Envelopes and Install may be kept, not modified.
type Effects struct {
	// Persist, if not nil, replaces the record on disk. The driver has it written beside the
	// machine, which goes on, and answers with Persisted. There is no second one before the answer,
	// and none without Config.Disk. The machine holds back what must wait for it (V5); nothing
	// below does. The bytes are the caller's.
	Persist []byte
	Send    []message.Envelope
	Install []*view.View // views that this node has installed and stored, oldest first
	// for the arbiter's lease: one after the other, after those of earlier steps; nothing waits for
	// them
	Arbiter []arbitration.Op
	Events  []Event // for the log and for subscribers
	Done    error   // not nil: the machine has ended (ErrDowned, ErrLeft, ErrRefused, ErrStalled, ErrStore)
}

// String lists the effects, one a line.
func (e *Effects) String() string {
	var b strings.Builder
	if e.Persist != nil {
		r, err := record.Decode(e.Persist)
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
