package bootstrap

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Nodes that are in no view do not know yet which format level they will write. So what they say, and
// what is said to them, are maps that only gain keys: a node ignores those that it does not know. The
// members and contacts in them keep the form of format.Initial.

// Contact is where a node can be found.
type Contact struct {
	_    struct{} `cbor:",toarray"`
	UID  view.UID
	Addr string
}

// Known is what a disk remembers of a view of the past (V5).
type Known struct {
	Cluster  view.ClusterID `cbor:"1,keyasint"`
	Era      view.Era       `cbor:"2,keyasint"` // of the cluster
	Epoch    view.Epoch     `cbor:"3,keyasint"`
	Pending  bool           `cbor:"4,keyasint"` // accepted there, perhaps never decided
	Founding bool           `cbor:"5,keyasint"` // pending: it would have founded the cluster, by all its members
	Voters   []view.Member  `cbor:"6,keyasint"` // those with a disk, oldest first
	Settled  view.Epoch     `cbor:"7,keyasint"` // the newest epoch that was known to be settled
	// its own role by role, and before them those of the views that were not settled when it was
	// decided
	Sets    []view.DiskSet `cbor:"8,keyasint"`
	Durable []string       `cbor:"9,keyasint"`  // its patterns of durable keys, and those that were moving
	Moves   uint16         `cbor:"10,keyasint"` // its View.Moves
	Format  format.Level   `cbor:"11,keyasint"` // its View.Format
	// Voters are all that can have held a lease in the view: each full member votes and has a disk
	Complete bool `cbor:"12,keyasint,omitempty"`
	// which incarnations were over
	Ages *view.Ages `cbor:"13,keyasint,omitempty"`
}

// Probe is what a node without a cluster says to any node that may know of one. A member takes it
// as a request to join; another node without a cluster takes it as a candidate for founding one
// together.
type Probe struct {
	Name     string      `cbor:"1,keyasint"`
	Settings []Setting   `cbor:"2,keyasint"` // what must be alike
	Durable  []string    `cbor:"3,keyasint"` // patterns of durable keys of its configuration, sorted
	Self     view.Member `cbor:"4,keyasint"`
	// the address to which it is sent, be it the one that the receiver advertises or another
	At       string `cbor:"5,keyasint"`
	Expect   uint32 `cbor:"6,keyasint"`
	AnyDisks bool   `cbor:"7,keyasint"`
	// the newest of the cluster that it was told of: shows a member that the probe is no old one
	Heard view.Epoch `cbor:"8,keyasint"`
	First view.Epoch `cbor:"9,keyasint"`  // the first of the cluster that it was told of
	Knows []Known    `cbor:"10,keyasint"` // what its disk remembers
	// other nodes without a cluster whose probes reach it at the address that it advertises, by uid
	Peers  []Contact  `cbor:"11,keyasint"`
	Choice []view.UID `cbor:"12,keyasint"`           // the nodes that it would found with now; empty = not yet
	Waits  bool       `cbor:"13,keyasint"`           // leases that its last incarnation knew of may still run
	Ended  bool       `cbor:"14,keyasint,omitempty"` // the last incarnation on its disk has ended for certain
	// the bound up to which its disk is good for what the members have agreed on (record.Clean)
	Clean view.UID `cbor:"15,keyasint,omitempty"`
}

// JoinReply answers a Probe: there is a cluster, and these members may be asked to join.
type JoinReply struct {
	Cluster  view.ClusterID `cbor:"1,keyasint"`
	Epoch    view.Epoch     `cbor:"2,keyasint"`
	Contacts []Contact      `cbor:"3,keyasint"`
	Closing  bool           `cbor:"4,keyasint"` // no node joins it any more
	Moving   bool           `cbor:"5,keyasint"` // the asker brings durable keys, and waits while those of another node move
}

// Refuse answers a Probe: the node will not be taken. It names the node that it means, because it
// may come late, to another incarnation at the same address.
type Refuse struct {
	To      view.UID       `cbor:"1,keyasint"`
	Cluster view.ClusterID `cbor:"2,keyasint"` // of the member that refuses
	At      string         `cbor:"3,keyasint"` // the address to which the probe was sent; empty = it answers none
	Reason  Reason         `cbor:"4,keyasint"`
	Text    string         `cbor:"5,keyasint"`
	Least   view.UID       `cbor:"6,keyasint,omitempty"` // the next incarnation must not have a lower uid
}

// Locked says that its sender has locked itself to this founding view. When all members of the view
// have said so, it is installed.
type Locked struct {
	_    struct{} `cbor:",toarray"`
	View *view.View
}

// String prints uid and address.
func (c Contact) String() string { return fmt.Sprintf("%v@%s", c.UID, c.Addr) }

// String prints the message.
func (p Probe) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "probe %q %v expects %d", p.Name, p.Self, p.Expect)
	if p.Heard > 0 {
		fmt.Fprintf(&b, " heard %v", p.Heard)
		if p.First < p.Heard {
			fmt.Fprintf(&b, " since %v", p.First)
		}
	}
	if len(p.Knows) > 0 {
		fmt.Fprintf(&b, " knows %v", p.Knows)
	}
	if len(p.Peers) > 0 {
		fmt.Fprintf(&b, " peers %v", p.Peers)
	}
	if len(p.Choice) > 0 {
		fmt.Fprintf(&b, " choice %v", p.Choice)
	}
	return b.String()
}

// String prints the message.
func (h JoinReply) String() string {
	s := fmt.Sprintf("here is %v/%v ask %v", h.Cluster, h.Epoch, h.Contacts)
	if h.Closing {
		s += " closing"
	}
	return s
}

// String prints the message.
func (r Refuse) String() string { return fmt.Sprintf("refuse: %s (%v)", r.Text, r.Reason) }

// String prints the message.
func (l Locked) String() string { return fmt.Sprintf("lock %v", l.View) }
