package membership

import (
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Input is what a machine is stepped with.
type Input interface {
	fmt.Stringer
	input()
}

// Tick says that time has passed: the driver steps it once after New and then whenever Deadline is
// reached.
type Tick struct{}

// Receive hands over a message of a peer.
type Receive struct {
	From     view.UID // as the link's hello named it
	FromAddr string   // the peer's listening address, if the link knows it
	Msg      message.Message
}

// Hint is what memberlist believes of a node. Alive names a candidate to ask for a cluster; not
// Alive makes the machine suspect a member sooner. No hint changes a view.
type Hint struct {
	Addr  string
	UID   view.UID // 0 = unknown
	Alive bool
}

// Dialled tells how an attempt of this node to connect to a member has ended. One that brought no
// answer, or another one, is not told.
type Dialled struct {
	UID view.UID
	// Refused: the machine answers, and the process is not there: no process listens, or another
	// incarnation does. Else this incarnation has answered.
	Refused bool
}

// Discovered is what the source of addresses says now: all that it names, and why these are none or
// may not be all. A contact's UID is the node that was found listening there, 0 where that is not
// known yet. It replaces what was said before. The exception is an Err with nothing Found: the
// names of before remain. A node that is in a cluster needs it no more.
type Discovered struct {
	Found []bootstrap.Contact
	Err   string // empty when the answer is whole
}

// Leave asks to leave the cluster gracefully: the node becomes Leaving, and the driver then hands
// off what runs here. A node that is Joining is dropped when it has stopped; if it has something to
// hand over, it may become Up before.
type Leave struct{}

// Stopped says that nothing runs here under a lease any more, nor ever will: it is irrevocable.
// After it the node may be dropped without waiting for its lease.
type Stopped struct{}

// Down is an operator's verdict on a member, to be carried out by a decision of the voters. It is
// irrevocable.
type Down struct{ UID view.UID }

// CloseCluster is an operator's word that the cluster is about to be shut down as a whole: a view
// will say so (View.Closing). It is irrevocable, and means nothing to a node without a view.
type CloseCluster struct{}

// CaughtUp says that the node's replicators have the data of their roles: a Joining node may become
// Up.
type CaughtUp struct{ Yes bool }

// Settled says that the node's replicators have settled all views before Epoch (or given up on them
// with an alarm). A leaving node is dropped only when it has settled the current view (V4), and a
// cold start needs the disks of the views before Epoch no more (V5).
type Settled struct{ Epoch view.Epoch }

// Moved says that the node's replicators of all roles have done their part of a move of keys
// (View.Moves): the data is on this node's disk.
type Moved struct{ Number uint16 }

// Agreed says that the node's replicators of all roles have, under the view of that epoch, the same of the
// incarnations that end there (view.Ages) as all other members: in the durable space, on disk.
type Agreed struct{ Epoch view.Epoch }

// Offer says that the node offers a service from now on, and as long as it is a member: a view lists it
// in the line of that, when the node is Up or Leaving and the line has room (View.InCharge).
type Offer struct{ Service view.Service }

// Persisted answers Effects.Persist: the record is durable, or it may not be. The machine ends when
// it is not.
type Persisted struct{ Err error }

// Suspended says that wall time ran away from monotonic time: the process or machine was suspended.
// The lease is lost until it is renewed.
type Suspended struct{}

func (Tick) input()         {}
func (Receive) input()      {}
func (Hint) input()         {}
func (Dialled) input()      {}
func (Discovered) input()   {}
func (Leave) input()        {}
func (Stopped) input()      {}
func (Down) input()         {}
func (CloseCluster) input() {}
func (CaughtUp) input()     {}
func (Settled) input()      {}
func (Moved) input()        {}
func (Agreed) input()       {}
func (Offer) input()        {}
func (Persisted) input()    {}
func (Suspended) input()    {}

// isSenseless reports whether a message has no sender other than this node, or no content.
func (r Receive) isSenseless(self view.UID) bool {
	return r.From == self || r.From == 0 || r.Msg == nil
}

// String prints the input.
func (Tick) String() string { return "tick" }

// String prints the input.
func (r Receive) String() string { return fmt.Sprintf("receive from %v: %v", r.From, r.Msg) }

// String prints the input.
func (h Hint) String() string {
	if h.Alive {
		return fmt.Sprintf("hint %v@%s alive", h.UID, h.Addr)
	}
	return fmt.Sprintf("hint %v@%s dead", h.UID, h.Addr)
}

// String prints the input.
func (d Dialled) String() string {
	if d.Refused {
		return fmt.Sprintf("dialled %v: refused", d.UID)
	}
	return fmt.Sprintf("dialled %v: connected", d.UID)
}

// String prints the input.
func (d Discovered) String() string {
	switch {
	case d.Err == "":
		return fmt.Sprintf("discovered %v", d.Found)
	case len(d.Found) == 0:
		return "discovered nothing: " + d.Err
	}
	return fmt.Sprintf("discovered %v, perhaps not all: %s", d.Found, d.Err)
}

// String prints the input.
func (Leave) String() string { return "leave" }

// String prints the input.
func (Stopped) String() string { return "stopped" }

// String prints the input.
func (d Down) String() string { return fmt.Sprintf("down %v", d.UID) }

// String prints the input.
func (CloseCluster) String() string { return "close cluster" }

// String prints the input.
func (c CaughtUp) String() string { return fmt.Sprintf("caught up %t", c.Yes) }

// String prints the input.
func (m Moved) String() string { return fmt.Sprintf("moved #%d", m.Number) }

// String prints the input.
func (a Agreed) String() string { return fmt.Sprintf("agreed %v", a.Epoch) }

// String prints the input.
func (o Offer) String() string { return fmt.Sprintf("offer %v", o.Service) }

// String prints the input.
func (s Settled) String() string { return fmt.Sprintf("settled %v", s.Epoch) }

// String prints the input.
func (p Persisted) String() string {
	if p.Err != nil {
		return "persisted: " + p.Err.Error()
	}
	return "persisted"
}

// String prints the input.
func (Suspended) String() string { return "suspended" }

// ArbiterAcquired answers an arbitration.Acquire: this node holds the arbiter's lease.
type ArbiterAcquired struct {
	Record []byte    // under the lease; empty = none was ever saved
	Until  time.Time // before that time no other node gets it
}

// ArbiterDenied answers an arbitration.Acquire: this node does not hold the lease.
type ArbiterDenied struct {
	Err string // empty = another holds it
}

// ArbiterSaved answers an arbitration.Save.
type ArbiterSaved struct {
	Err string // empty = the record is durable; else it may be the old or the new one
}

// ArbiterLost says that this node may not hold the arbiter's lease any more. It must come before
// another can acquire it, or after the Until of it.
type ArbiterLost struct{ Err string }

// ArbiterProlonged says that the arbiter's lease, which this node holds, ends at another time.
type ArbiterProlonged struct{ Until time.Time }

func (ArbiterAcquired) input()  {}
func (ArbiterDenied) input()    {}
func (ArbiterSaved) input()     {}
func (ArbiterLost) input()      {}
func (ArbiterProlonged) input() {}

// String prints the input.
func (a ArbiterAcquired) String() string {
	if len(a.Record) == 0 {
		return "arbiter acquired"
	}
	r, err := arbitration.Decode(a.Record)
	if err != nil {
		return "arbiter acquired: " + err.Error()
	}
	return "arbiter acquired: " + r.String()
}

// String prints the input.
func (a ArbiterDenied) String() string { return "arbiter denied" + because(a.Err) }

// String prints the input.
func (a ArbiterSaved) String() string { return "arbiter saved" + because(a.Err) }

// String prints the input.
func (a ArbiterLost) String() string { return "arbiter lost" + because(a.Err) }

// String prints the input.
func (ArbiterProlonged) String() string { return "arbiter prolonged" }

func because(err string) string {
	if err == "" {
		return ""
	}
	return ": " + err
}
