package replica

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// A roster keeps what it knows of the peers that stay, forgets the others, and is in the order of ids.
func TestARosterFollowsTheViews(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	r := Roster{self: 5}
	known := map[crdt.Origin]*Peer{}
	for epoch := range uint64(500) {
		v, learns := View{Epoch: epoch + 1}, map[crdt.Origin]bool{}
		for id := range crdt.Origin(9) {
			m := Member{ID: id + 1, UpNumber: uint32(9 - id), Disk: rng.Uint64()}
			switch rng.IntN(3) {
			case 0:
				v.Voters = append(v.Voters, m)
			case 1:
				v.Learners, learns[m.ID] = append(v.Learners, m), true
			}
		}
		r.Install(v, [keyspace.Count]uint64{})
		ids := slices.DeleteFunc(v.MemberIDs(), func(id crdt.Origin) bool { return id == r.self })
		slices.Sort(ids)
		now := map[crdt.Origin]*Peer{}
		for _, p := range r.Peers {
			if was := known[p.ID]; was != nil && was != p || p.Voter == learns[p.ID] {
				t.Fatalf("view %v: peer %v is another one, or votes: %t", v, p.ID, p.Voter)
			}
			now[p.ID] = p
		}
		if known = now; !slices.EqualFunc(r.Peers, ids, func(p *Peer, id crdt.Origin) bool { return p.ID == id }) {
			t.Fatalf("view %v: %d peers", v, len(r.Peers))
		}
		eldest := v.VoterIDs()
		slices.Reverse(eldest) // the highest id has the lowest number
		if eldest = eldest[:min(len(eldest), SettlersMax)]; !slices.Equal(r.Settlers, eldest) {
			t.Fatalf("view %v: settlers %v, want %v", v, r.Settlers, eldest)
		}
	}
}
