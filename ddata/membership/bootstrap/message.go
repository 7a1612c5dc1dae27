package bootstrap

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Contact is where a node can be found.
type Contact struct {
	_    struct{} `cbor:",toarray"`
	UID  view.UID
	Addr string
}

// Known is what a disk remembers of a view of the past (V5).
type Known struct {
	_        struct{} `cbor:",toarray"`
	Cluster  view.ClusterID
	Era      view.Era // of the cluster
	Epoch    view.Epoch
	Pending  bool          // accepted there, perhaps never decided
	Founding bool          // pending: it would have founded the cluster, by all its members
	Voters   []view.Member // those with a disk, oldest first
	Settled  view.Epoch    // the newest epoch that was known to be settled
	// its own role by role, and before them those of the views that were not settled when it was
	// decided
	Sets    []view.DiskSet
	Durable []string // its patterns of durable keys, and those that were moving
	Moves   uint16   // its View.Moves
}

// Probe is what a node without a cluster says to any node that may know of one. A member takes it
// as a request to join; another node without a cluster takes it as a candidate for founding one
// together.
type Probe struct {
	_        struct{} `cbor:",toarray"`
	Protocol uint32
	Name     string
	Settings []Setting // what must be alike
	Durable  []string  // patterns of durable keys of its configuration, sorted
	Self     view.Member
	At       string // the address to which it is sent, be it the one that the receiver advertises or another
	Expect   uint32
	AnyDisks bool
	Heard    view.Epoch // the newest of the cluster that it was told of: shows a member that the probe is no old one
	First    view.Epoch // the first of the cluster that it was told of
	Knows    []Known    // what its disk remembers
	Peers    []Contact  // other nodes without a cluster whose probes reach it at the address that it advertises, by uid
	Choice   []view.UID // the nodes that it would found with now; empty = not yet
	Waits    bool       // leases that its last incarnation knew of may still run
}

// JoinReply answers a Probe: there is a cluster, and these members may be asked to join.
type JoinReply struct {
	_        struct{} `cbor:",toarray"`
	Cluster  view.ClusterID
	Epoch    view.Epoch
	Contacts []Contact
	Closing  bool // no node joins it any more
	Moving   bool // the asker brings durable keys, and waits while those of another node move
}

// Refuse answers a Probe: the node will not be taken. It names the node that it means, because it
// may come late, to another incarnation at the same address.
type Refuse struct {
	_       struct{} `cbor:",toarray"`
	To      view.UID
	Cluster view.ClusterID // of the member that refuses
	At      string         // the address to which the probe was sent; empty = it answers none
	Reason  Reason
	Text    string
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
