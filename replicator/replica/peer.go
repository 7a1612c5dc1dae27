package replica

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
)

// Peer is another member of the view.
type Peer struct {
	ID        crdt.Origin
	up        uint32
	disk      uint64
	Voter     bool
	Reachable bool
	Epoch     uint64 // the newest view that the peer is known to have installed
	Links     [keyspace.Count]Link
	Flows     push.Flows
	Coming    push.Assembly
	malformed uint64    // messages and groups that made no sense
	warnAt    time.Time // when to tell of the next
}

// newPeer begins to keep what is known of a member that has come.
func newPeer(id crdt.Origin, seqs [keyspace.Count]uint64) *Peer {
	n := &Peer{ID: id, Reachable: true}
	for i, seq := range seqs {
		n.Links[i] = Link{Content: &crdt.Clock{}, Acked: &crdt.Clock{}, Window: push.NewWindow(seq)}
	}
	return n
}

// Link is what one space knows of one peer, and what is on its way there.
//
// Invariants: content and acked hold only what the peer has (they may lag, they never lead); acked
// ⊆ content; what the window has as applied and counted are theirs for the own origin.
type Link struct {
	Content *crdt.Clock // applied there
	Acked   *crdt.Clock // counts there
	Window  push.Window // how far the peer is with the own events, and what is on its way there
	Stated  *crdt.Clock // content that the peer told under the installed view; kept while there is something to fold

	Told     *crdt.Clock // of the own content, what Compare told the peer; nil: nothing, or the peer has lost it
	Theirs   crdt.Clock  // of the peer's content, what its Compares have told
	TheirsID uint64      // of the last one

	Unstored uint64 // own events up to here, those that do not count yet, were refused by the peer's disk
	Refuses  bool   // the peer's disk has refused its last batch, as far as known
	Why      string // what the disk said

	Donated uint64 // the session of the last repair of the peer from here

	Alarms  int       // digest alarms since the digests were last equal
	AlarmAt time.Time // those before this are not acted upon

	Seen   uint64   // own events up to here counted there in an ack, and so did nothing that is missing here
	Unseen []Unseen // acks that told more, of later events

	Asked    uint64 // the number of the peer's last question in a push; 0: none
	AskedFor uint64 // the last event of the peer for which it was asked

	Owes        bool   // an Ack is due to the peer
	Echo        uint64 // highest event of the peer that one of its pushes brought
	ToldAcked   uint64 // of the last Ack to the peer
	ToldContent uint64
}

// Unseen is what an ack has told and is not here yet.
type Unseen struct {
	UpTo  uint64      // the own events up to here counted there
	Extra *crdt.Clock // what else did; nil: nothing
}

// Link returns what one space knows of the peer.
func (p *Peer) Link(s keyspace.Space) *Link { return &p.Links[s] }
