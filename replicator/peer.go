package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
)

// peer is another member of the view.
type peer struct {
	id        crdt.Origin
	up        uint32
	disk      uint64
	voter     bool
	reachable bool
	epoch     uint64 // the newest view that the peer is known to have installed
	links     [keyspace.Count]link
	flows     push.Flows
	coming    push.Assembly
	malformed uint64    // messages and groups that made no sense
	warnAt    time.Time // when to tell of the next
}

// newPeer begins to keep what is known of a member that has come.
func newPeer(id crdt.Origin, seqs [keyspace.Count]uint64) *peer {
	n := &peer{id: id, reachable: true}
	for i, seq := range seqs {
		n.links[i] = link{content: &crdt.Clock{}, acked: &crdt.Clock{}, window: push.NewWindow(seq)}
	}
	return n
}

// link is what one space knows of one peer, and what is on its way there.
//
// Invariants: content and acked hold only what the peer has (they may lag, they never lead); acked
// ⊆ content; what the window has as applied and counted are theirs for the own origin.
type link struct {
	content *crdt.Clock // applied there
	acked   *crdt.Clock // counts there
	window  push.Window // how far the peer is with the own events, and what is on its way there
	stated  *crdt.Clock // content that the peer told under the installed view; kept while there is something to fold

	told     *crdt.Clock // of the own content, what Compare told the peer; nil: nothing, or the peer has lost it
	theirs   crdt.Clock  // of the peer's content, what its Compares have told
	theirsID uint64      // of the last one

	unstored uint64 // own events up to here, those that do not count yet, were refused by the peer's disk
	refuses  bool   // the peer's disk has refused its last batch, as far as known
	why      string // what the disk said

	alarms  int       // digest alarms since the digests were last equal
	alarmAt time.Time // those before this are not acted upon

	owes        bool   // an Ack is due to the peer
	echo        uint64 // highest event of the peer that one of its pushes brought
	toldAcked   uint64 // of the last Ack to the peer
	toldContent uint64
}

func (p *peer) link(s keyspace.Space) *link { return &p.links[s] }
