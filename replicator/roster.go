package replicator

import (
	"cmp"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
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
// and begins with each member that has come. seqs are the last own events of each space.
func (r *roster) install(v View, seqs [keyspace.Count]uint64) {
	r.view, r.oldest = v, v.oldest()
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
			n = newPeer(p.ID, seqs)
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
	i, ok := slices.BinarySearchFunc(r.peers, id, func(p *peer, id crdt.Origin) int { return cmp.Compare(p.id, id) })
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
