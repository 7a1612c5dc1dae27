package message

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Message is what machines say to each other. Any message may be lost, late, doubled or overtaken.
// Append knows all of them. Messages are values; the views, proposals and slices in them are never
// modified.
type Message interface{ fmt.Stringer }

// Current is a message that counts in one view only: a heartbeat, a grant, what a member finds of
// others, or one of a ballot.
type Current interface {
	Message
	// In returns the cluster and the epoch of that view.
	In() (view.ClusterID, view.Epoch)
}

// Envelope is one message to send on the control lane. Messages may be lost. With To set it is for
// that incarnation alone, whether it is a member of the view or not, and must not reach another
// process at the address.
type Envelope struct {
	To   view.UID // 0 = the node that listens at Addr
	Addr string   // empty only if a Receive came without one
	Msg  Message
}

// String prints destination and message.
func (e Envelope) String() string {
	if e.To == 0 {
		return fmt.Sprintf("to %s: %v", e.Addr, e.Msg)
	}
	return fmt.Sprintf("to %v: %v", e.To, e.Msg)
}

// Heartbeat goes to every other member each interval, to voters only if not all vote, and asks for
// a grant.
type Heartbeat struct {
	_       struct{} `cbor:",toarray"`
	Cluster view.ClusterID
	Epoch   view.Epoch
	Tag     uint64 // first half of the hash of the sender's view
	Mono    int64  // when it was sent, on the sender's monotonic clock; only the sender reads it
	Wall    int64  // and on its wall clock
	Flags   report.Flags
	Settled view.Epoch
	Moved   uint16     // the last move of keys (View.Moves) of which the sender has done its part
	Downs   []view.UID // members that an operator has downed, sorted
	// that the sender offers, and for which the view does not list it yet, sorted
	Offers []view.Service
}

// Grant answers a Heartbeat of the same epoch. If it grants, the heartbeat's sender may count it
// until L after sending.
type Grant struct {
	_       struct{} `cbor:",toarray"`
	Cluster view.ClusterID
	Epoch   view.Epoch
	Mono    int64 // of the heartbeat
	Wall    int64 // of the heartbeat
	Granted bool  // false: heard, but nothing is granted now
	Arbiter bool  // and so does the arbiter
	Closes  bool  // the layers above know a view that is Closing
}

// Crashed goes to the voters, at once and each interval, while the sender finds members ended: it had
// connections to them, their machines refuse others, and nothing was heard of them since. It is also
// said once when that changes. It is written from format.Crashes on.
type Crashed struct {
	_       struct{} `cbor:",toarray"`
	Cluster view.ClusterID
	Epoch   view.Epoch
	Members []view.UID // sorted
}

// Agreed goes to the voters, at once and each interval, while the view lets incarnations end (view.Ages)
// and the sender has the same of these as all other members. It is written from format.Ages on.
type Agreed struct {
	_       struct{} `cbor:",toarray"`
	Cluster view.ClusterID
	Epoch   view.Epoch
}

// Fetch asks for the receiver's view, because it is said to be newer.
type Fetch struct {
	_       struct{} `cbor:",toarray"`
	Cluster view.ClusterID
}

// Commit tells a decided view.
type Commit struct {
	_    struct{} `cbor:",toarray"`
	View *view.View
}

// Change tells a decided view to a member of its parent and of it. It is written where the parent is of
// format.Changes or later.
type Change struct {
	_ struct{} `cbor:",toarray"`
	*view.Change
}

// Learned answers a Commit, if its sender or its receiver is not in that view, and a Heartbeat of a
// node that parts.
type Learned struct {
	_       struct{} `cbor:",toarray"`
	Cluster view.ClusterID
	Epoch   view.Epoch // of the newest view that the sender knows
	Stopped bool       // it also knows that the receiver has stopped
}

// Prepare opens a ballot for the view after Epoch, and names the members that the proposer wants to
// drop.
type Prepare struct {
	_       struct{} `cbor:",toarray"`
	Cluster view.ClusterID
	Epoch   view.Epoch
	Ballot  paxos.Ballot
	Drops   []view.UID // sorted
}

// Prepared promises to refuse lower ballots, tells what was accepted before, and how long promises
// to members that are to be dropped still run here.
type Prepared struct {
	_              struct{} `cbor:",toarray"`
	Cluster        view.ClusterID
	Epoch          view.Epoch
	Ballot         paxos.Ballot
	AcceptedBallot paxos.Ballot
	Accepted       *paxos.Proposal // nil = nothing
	Wait           int64           // nanoseconds
	Arbiter        bool            // the arbiter's answer, too: it comes after that of the voter that carries it
}

// Accept asks to accept a proposal.
type Accept struct {
	_        struct{} `cbor:",toarray"`
	Cluster  view.ClusterID
	Epoch    view.Epoch
	Ballot   paxos.Ballot
	Proposal *paxos.Proposal
}

// Accepted says that the ballot's proposal was accepted.
type Accepted struct {
	_       struct{} `cbor:",toarray"`
	Cluster view.ClusterID
	Epoch   view.Epoch
	Ballot  paxos.Ballot
}

// Rejected says that a ballot came too late, or that a promise still runs.
type Rejected struct {
	_        struct{} `cbor:",toarray"`
	Cluster  view.ClusterID
	Epoch    view.Epoch
	Ballot   paxos.Ballot // the one rejected
	Promised paxos.Ballot // the highest one promised
	Wait     int64        // nanoseconds that a promise still runs; 0 = the ballot was too low
}

// In implements Current.
func (h Heartbeat) In() (view.ClusterID, view.Epoch) { return h.Cluster, h.Epoch }

// In implements Current.
func (g Grant) In() (view.ClusterID, view.Epoch) { return g.Cluster, g.Epoch }

// In implements Current.
func (c Crashed) In() (view.ClusterID, view.Epoch) { return c.Cluster, c.Epoch }

// In implements Current.
func (a Agreed) In() (view.ClusterID, view.Epoch) { return a.Cluster, a.Epoch }

// In implements Current: a Change counts in the parent.
func (c Change) In() (view.ClusterID, view.Epoch) { return c.View.Cluster, c.View.Epoch - 1 }

// In implements Current.
func (p Prepare) In() (view.ClusterID, view.Epoch) { return p.Cluster, p.Epoch }

// In implements Current.
func (p Prepared) In() (view.ClusterID, view.Epoch) { return p.Cluster, p.Epoch }

// In implements Current.
func (a Accept) In() (view.ClusterID, view.Epoch) { return a.Cluster, a.Epoch }

// In implements Current.
func (a Accepted) In() (view.ClusterID, view.Epoch) { return a.Cluster, a.Epoch }

// In implements Current.
func (r Rejected) In() (view.ClusterID, view.Epoch) { return r.Cluster, r.Epoch }

// String prints the message, without the times.
func (h Heartbeat) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "heartbeat %v", h.Epoch)
	if h.Flags != 0 {
		fmt.Fprintf(&b, " %v", h.Flags)
	}
	if h.Settled != 0 {
		fmt.Fprintf(&b, " settled %v", h.Settled)
	}
	if h.Moved != 0 {
		fmt.Fprintf(&b, " moved #%d", h.Moved)
	}
	if len(h.Downs) > 0 {
		fmt.Fprintf(&b, " downs %v", h.Downs)
	}
	if len(h.Offers) > 0 {
		fmt.Fprintf(&b, " offers %v", h.Offers)
	}
	return b.String()
}

// String prints the message, without the times.
func (g Grant) String() string {
	if !g.Granted {
		return fmt.Sprintf("no grant %v", g.Epoch)
	}
	if g.Arbiter {
		return fmt.Sprintf("grant %v, arbiter too", g.Epoch)
	}
	return fmt.Sprintf("grant %v", g.Epoch)
}

// String prints the message.
func (c Crashed) String() string { return fmt.Sprintf("crashed %v %v", c.Epoch, c.Members) }

// String prints the message.
func (a Agreed) String() string { return fmt.Sprintf("agreed %v", a.Epoch) }

// String prints the message.
func (f Fetch) String() string { return "fetch" }

// String prints the message.
func (c Commit) String() string { return fmt.Sprintf("commit %v", c.View) }

// String prints the message.
func (c Change) String() string { return fmt.Sprintf("change %v", c.Change) }

// String prints the message.
func (p Prepare) String() string {
	if len(p.Drops) == 0 {
		return fmt.Sprintf("prepare %v %v", p.Epoch, p.Ballot)
	}
	return fmt.Sprintf("prepare %v %v drops %v", p.Epoch, p.Ballot, p.Drops)
}

// String prints the message.
func (p Prepared) String() string {
	s := fmt.Sprintf("prepared %v %v", p.Epoch, p.Ballot)
	if p.Accepted != nil {
		s += fmt.Sprintf(" accepted at %v: %v", p.AcceptedBallot, p.Accepted)
	}
	if p.Wait > 0 {
		s += " wait"
	}
	if p.Arbiter {
		s += ", arbiter too"
	}
	return s
}

// String prints the message.
func (a Accept) String() string {
	return fmt.Sprintf("accept %v %v: %v", a.Epoch, a.Ballot, a.Proposal)
}

// String prints the message.
func (a Accepted) String() string { return fmt.Sprintf("accepted %v %v", a.Epoch, a.Ballot) }

// String prints the message.
func (r Rejected) String() string {
	if r.Wait > 0 {
		return fmt.Sprintf("rejected %v %v: promise runs", r.Epoch, r.Ballot)
	}
	return fmt.Sprintf("rejected %v %v: promised %v", r.Epoch, r.Ballot, r.Promised)
}

// String prints the message.
func (l Learned) String() string {
	if l.Stopped {
		return fmt.Sprintf("learned %v, stopped", l.Epoch)
	}
	return fmt.Sprintf("learned %v", l.Epoch)
}
