package replica

import (
	"cmp"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
)

// Roster is the members of the installed view, as this replica knows them.
//
// Invariants: peers is sorted by id; all of it is of view.
type Roster struct {
	self   crdt.Origin
	View   View
	Voter  bool        // self is a voter of the view
	Member bool        // self is in the view at all
	Serves bool        // caught up: may serve quorum operations, ack and donate (R4, R11)
	Peers  []*Peer     // the other members, by id
	Oldest crdt.Origin // of the voters
	// Settlers gather what was acknowledged before the view: the oldest voters, SettlersMax at most.
	Settlers []crdt.Origin
	HeardOf  uint64 // the newest epoch that a member has named
}

// SettlersMax is how many members find that a view is settled, and tell the others. More would find
// it when more of them are away. What a view costs in messages grows with this times the members.
const SettlersMax = 3

// Settles reports whether a member is one of the settlers.
func (r *Roster) Settles(id crdt.Origin) bool { return slices.Contains(r.Settlers, id) }

// Install takes the next view. It keeps what is known of the peers that stay, forgets the others,
// and begins with each member that has come. seqs are the last own events of each space.
func (r *Roster) Install(v View, seqs [keyspace.Count]uint64) {
	r.View, r.Oldest, r.Settlers = v, v.oldest(), v.eldest(SettlersMax)
	r.Voter = hasPeer(v.Voters, r.self)
	r.Member = r.Voter || hasPeer(v.Learners, r.self)
	old := r.Peers
	voters, learners := v.Voters, v.Learners
	r.Peers = make([]*Peer, 0, len(voters)+len(learners))
	for len(voters)+len(learners) > 0 {
		var p Member
		voter := len(learners) == 0 || len(voters) > 0 && voters[0].ID < learners[0].ID
		if voter {
			p, voters = voters[0], voters[1:]
		} else {
			p, learners = learners[0], learners[1:]
		}
		if p.ID == r.self {
			continue
		}
		for len(old) > 0 && old[0].ID < p.ID {
			old = old[1:]
		}
		var n *Peer
		if len(old) > 0 && old[0].ID == p.ID {
			n = old[0]
		} else {
			n = newPeer(p.ID, seqs)
		}
		n.up, n.disk, n.Voter = p.UpNumber, p.Disk, voter
		r.Peers = append(r.Peers, n)
	}
}

// Leave ends a membership.
func (r *Roster) Leave() { r.Serves, r.Peers = false, nil }

// BecomeCaughtUp makes this replica serve.
func (r *Roster) BecomeCaughtUp() { r.Serves = true }

// Heard notes which view a peer has installed. It reports whether that is the own one, and news.
func (r *Roster) Heard(p *Peer, epoch uint64) bool {
	if epoch <= p.Epoch {
		return false
	}
	p.Epoch = epoch
	r.HeardOf = max(r.HeardOf, epoch)
	return epoch == r.View.Epoch
}

// Peer returns the member with this id, nil when there is none or it is the machine itself.
func (r *Roster) Peer(id crdt.Origin) *Peer {
	i, ok := slices.BinarySearchFunc(r.Peers, id, func(p *Peer, id crdt.Origin) int { return cmp.Compare(p.ID, id) })
	if !ok {
		return nil
	}
	return r.Peers[i]
}

// Counts reports whether the peer's acks count for operations of the installed view (R15).
func (t *Site) Counts(p *Peer) bool {
	return p.Epoch == t.View.Epoch || t.Cfg.Planted(defect.CountAnyEpoch)
}

// Left reports whether an origin is no other member of the installed view.
func (r *Roster) Left(id crdt.Origin) bool { return r.Peer(id) == nil }

// Removed reports whether an origin is no longer a member.
func (r *Roster) Removed(o crdt.Origin) bool { return o != r.self && r.Peer(o) == nil }

// Members returns the other members of the installed view as package quorum counts them.
func (r *Roster) Members() []quorum.Member {
	out := make([]quorum.Member, len(r.Peers))
	for i, p := range r.Peers {
		out[i] = quorum.Member{ID: p.ID, Disk: p.disk, Voter: p.Voter}
	}
	return out
}

// ToRead returns the peers in the order in which reads ask them.
func (t *Site) ToRead(ps []*Peer) []*Peer { return t.Favoured(ps, t.Cfg.PreferOldest) }

// Favoured returns the peers with the reachable first, then by age or in random order.
func (t *Site) Favoured(ps []*Peer, byAge bool) []*Peer {
	out := slices.Clone(ps)
	t.Rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	slices.SortStableFunc(out, func(a, b *Peer) int {
		if c := cmp.Compare(rankOf(a), rankOf(b)); c != 0 || !byAge {
			return c
		}
		return cmp.Or(cmp.Compare(a.up, b.up), cmp.Compare(a.ID, b.ID))
	})
	return out
}

// Tidies reports whether this replica is the one that tidies up now.
func (t *Site) Tidies() bool {
	return t.Serves && t.Voter && t.Oldest == t.Cfg.Self &&
		(t.HeardOf <= t.View.Epoch || t.Cfg.Planted(defect.TidyInOldView))
}

func rankOf(p *Peer) int {
	if p.Reachable {
		return 0
	}
	return 1
}
