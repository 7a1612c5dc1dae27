package replicator

import (
	"cmp"
	"slices"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// roster is the members of the installed view, as this replica knows them.
//
// Invariants: peers is sorted by id; all of it is of view.
type roster struct {
	self    crdt.Origin
	view    View
	voter   bool        // self is a voter of the view
	member  bool        // self is in the view at all
	serves  bool        // caught up: may serve quorum operations, ack and donate (R4, R11)
	peers   []*peer     // the other members, by id
	oldest  crdt.Origin // of the voters
	heardOf uint64      // the newest epoch that a member has named
}

// install takes the next view. It keeps what is known of the peers that stay, forgets the others,
// and makes those that have come by fresh.
func (r *roster) install(v View, fresh func(Peer) *peer) {
	r.view, r.oldest = v, oldestOf(v)
	r.voter = hasPeer(v.Voters, r.self)
	r.member = r.voter || hasPeer(v.Learners, r.self)
	old := roster{peers: r.peers}
	r.peers = nil
	voters, learners := v.Voters, v.Learners
	for len(voters)+len(learners) > 0 {
		var p Peer
		voter := len(learners) == 0 || len(voters) > 0 && voters[0].ID < learners[0].ID
		if voter {
			p, voters = voters[0], voters[1:]
		} else {
			p, learners = learners[0], learners[1:]
		}
		if p.ID == r.self {
			continue
		}
		n := old.peer(p.ID)
		if n == nil {
			n = fresh(p)
		}
		n.up, n.disk, n.voter = p.UpNumber, p.Disk, voter
		r.peers = append(r.peers, n)
	}
}

// leave ends a membership.
func (r *roster) leave() { r.serves, r.peers = false, nil }

// becomeCaughtUp makes this replica serve.
func (r *roster) becomeCaughtUp() { r.serves = true }

// heard notes which view a peer has installed. It reports whether that is the own one, and news.
func (r *roster) heard(p *peer, epoch uint64) bool {
	if epoch <= p.epoch {
		return false
	}
	p.epoch = epoch
	r.heardOf = max(r.heardOf, epoch)
	return epoch == r.view.Epoch
}

// peer returns the member with this id, nil when there is none or it is the machine itself.
func (r *roster) peer(id crdt.Origin) *peer {
	i, ok := slices.BinarySearchFunc(r.peers, id, func(p *peer, id crdt.Origin) int { return cmpOrigin(p.id, id) })
	if !ok {
		return nil
	}
	return r.peers[i]
}

// counts reports whether the peer's acks count for operations of the installed view (V7).
func (t *site) counts(p *peer) bool {
	return p.epoch == t.view.Epoch || t.cfg.Defects.CountAnyEpoch
}

// left reports whether an origin is no other member of the installed view.
func (r *roster) left(id crdt.Origin) bool { return r.peer(id) == nil }

// removed reports whether an origin is no longer a member.
func (r *roster) removed(o crdt.Origin) bool { return o != r.self && r.peer(o) == nil }

// members returns the other members of the installed view as package quorum counts them.
func (r *roster) members() []quorum.Member {
	out := make([]quorum.Member, len(r.peers))
	for i, p := range r.peers {
		out[i] = quorum.Member{ID: p.id, Disk: p.disk, Voter: p.voter}
	}
	return out
}

// toRead returns the peers in the order in which reads ask them.
func (t *site) toRead(ps []*peer) []*peer { return t.favoured(ps, t.cfg.PreferOldest) }

// favoured returns the peers with the reachable first, then by age or in random order.
func (t *site) favoured(ps []*peer, byAge bool) []*peer {
	out := slices.Clone(ps)
	t.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	slices.SortStableFunc(out, func(a, b *peer) int {
		if c := cmp.Compare(rankOf(a), rankOf(b)); c != 0 || !byAge {
			return c
		}
		return cmp.Or(cmp.Compare(a.up, b.up), cmp.Compare(a.id, b.id))
	})
	return out
}

// tidies reports whether this replica is the one that tidies up now.
func (t *site) tidies() bool {
	return t.serves && t.voter && t.oldest == t.cfg.Self && (t.heardOf <= t.view.Epoch || t.cfg.Defects.TidyInOldView)
}

func rankOf(p *peer) int {
	if p.reachable {
		return 0
	}
	return 1
}

// oldestOf returns the voter with the lowest up number, of several the one with the lowest id.
func oldestOf(v View) (id crdt.Origin) {
	var up uint32
	for i, p := range v.Voters {
		if i == 0 || p.UpNumber < up {
			id, up = p.ID, p.UpNumber
		}
	}
	return id
}

// membersOf returns the ids of all members of a view.
func membersOf(v View) []crdt.Origin {
	ids := make([]crdt.Origin, 0, len(v.Voters)+len(v.Learners))
	for _, p := range v.Voters {
		ids = append(ids, p.ID)
	}
	for _, p := range v.Learners {
		ids = append(ids, p.ID)
	}
	return ids
}

// votersOf returns the ids of the voters of a view, sorted.
func votersOf(v View) []crdt.Origin {
	ids := make([]crdt.Origin, len(v.Voters))
	for i, p := range v.Voters {
		ids[i] = p.ID
	}
	return ids
}

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

// zeroTime means never.
var zeroTime time.Time
