package bootstrap

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// Output is what a call of the Seeker wants done. Messages come before views.
type Output struct {
	Send       []Envelope
	Waiting    []string     // why founding or joining does not go on, when that changed
	Install    []*view.View // views to install, in order: the first ends the seeking
	Stalled    string       // not empty: the node ends, and starts again under a new uid
	Least      view.UID     // with Stalled: which must not be lower
	Refused    *Refusal     // not nil: the node ends, because a member refused it
	timer.Next              // when to call Advance again at the latest
	Wake       bool         // Advance has something to do at once
	Dropped    Dropped
}

func (o *Output) send(to view.UID, addr string, msg fmt.Stringer) {
	o.Send = append(o.Send, Envelope{To: to, Addr: addr, Msg: msg})
}

// Refusal says by which address a node was refused, and why.
type Refusal struct {
	By     string
	Reason Reason
	Text   string
}

// Dropped counts messages of which nothing was taken.
type Dropped struct {
	Full         uint64 // above limits
	Bad          uint64 // senseless
	Stale        uint64 // too late
	OtherCluster uint64 // of another cluster
}

// Envelope is a message to a node: to that incarnation, or to the one that listens at the address.
type Envelope struct {
	To   view.UID // 0 = any
	Addr string
	Msg  fmt.Stringer
}
