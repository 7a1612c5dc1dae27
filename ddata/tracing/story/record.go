package story

import (
	"fmt"
	"slices"
)

// Kind says what a record is of.
type Kind uint8

// The kinds of records.
const (
	Step      Kind = iota // the node did something
	Sent                  // the node sent a message to Peer
	Received              // the node received a message from Peer
	Lost                  // a message that the node sent to Peer does not arrive, or the node drops one
	Fault                 // something broke, or is made to: of the node, or of the world around the nodes
	Started               // the node started, as the incarnation that the record names
	Ended                 // the node ended
	Paused                // the node stands still
	Resumed               // it goes on
	Note                  // worth a look, and no fault: a member came, an operator acted
	Violation             // a promise is broken; the text begins with its name
	kinds
)

var kindNames = [kinds]string{
	"step", "sent", "received", "lost", "fault", "started", "ended", "paused", "resumed", "note", "violation",
}

func (k Kind) String() string {
	if k < kinds {
		return kindNames[k]
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// MarshalText implements encoding.TextMarshaler. It fails for a Kind that there is not.
func (k Kind) MarshalText() ([]byte, error) {
	if k >= kinds {
		return nil, fmt.Errorf("story: no %v", k)
	}
	return []byte(kindNames[k]), nil
}

// UnmarshalText implements encoding.TextUnmarshaler. It fails for a name that is of no Kind.
func (k *Kind) UnmarshalText(name []byte) error {
	i := slices.Index(kindNames[:], string(name))
	if i < 0 {
		return fmt.Errorf("story: no kind %.32q", name)
	}
	*k = Kind(i)
	return nil
}

// ordinary reports whether records of a kind are many, and mean little without those beside them.
func (k Kind) ordinary() bool { return k == Step || k == Sent || k == Received || k == Lost }

// Record is one thing that happened. Fields that say nothing are empty.
type Record struct {
	// Time is when, in nanoseconds: since the Unix epoch by the clock of the node, or since the start of a
	// simulated world. A story has times of one sort.
	Time int64 `json:"t"`
	Kind Kind  `json:"kind"`
	// Node is where: the name of a lane. Empty: in the world around the nodes.
	Node string `json:"node,omitempty"`
	// Incarnation tells the lives of a node apart that was started again.
	Incarnation string `json:"inc,omitempty"`
	// Peer is the other node of a message; empty if it is not known.
	Peer string `json:"peer,omitempty"`
	// Message names a message: its records have the same name. A message that was repeated arrives twice.
	Message string `json:"msg,omitempty"`
	// Type and ID name the entity that the record is about.
	Type string `json:"type,omitempty"`
	ID   string `json:"id,omitempty"`
	// Keys are those of the replicated data that the record is about.
	Keys []string `json:"keys,omitempty"`
	// Text says what happened, in one or more lines.
	Text string `json:"text,omitempty"`
}
