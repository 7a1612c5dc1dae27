package read

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// newSite returns the site of replica 1, which serves, in a view with these voters.
func newSite(voters ...crdt.Origin) *replica.Site {
	site := replica.NewSite(settings.Config{
		Self: 1, RetryInterval: time.Second, FrameMax: 1 << 16, GroupMax: 1 << 16,
	}, rand.New(rand.NewPCG(1, 1)))
	site.Now, site.Serves = time.Unix(1000, 0), true
	v := replica.View{Epoch: 5}
	for _, id := range voters {
		v.Voters = append(v.Voters, replica.Member{ID: id})
	}
	site.Install(v, [keyspace.Count]uint64{})
	return &site
}

// all is the set of all members of the installed view.
func all(site *replica.Site) quorum.Set[*replica.Peer] {
	return quorum.Set[*replica.Peer]{Epoch: 5, Size: len(site.Peers) + 1, Self: true, Peers: site.Peers, Newest: true}
}

// newLinear returns the linearizable reads of replica 1, for which these sets count.
func newLinear(site *replica.Site, sets ...quorum.Set[*replica.Peer]) *Linear {
	ops, r := operation.NewInflight(site), replica.New(site, keyspace.Volatile, &quorum.Chain{})
	var joint quorum.Joint[*replica.Peer]
	joint.Replace(true, sets)
	gaps := exchange.NewGaps(r, nil)
	x := NewLinear(r, &ops, &joint, &gaps, func(string, time.Duration) {})
	return &x
}

// begin begins a read.
func (x *Linear) begin() {
	o := x.ops.NewOp(1, "k", quorum.Linearizable)
	o.Read = true
	x.ops.Begin(o, time.Minute)
	x.Add(o)
}

// A vote that was given under an older view does not count (R15), though it answers the question
// that is out. A voter counts once.
func TestVotesOfAnOlderViewDoNotCount(t *testing.T) {
	site := newSite(1, 2, 3, 4, 5)
	x := newLinear(site, all(site))
	x.begin()
	asked := x.comparing.asked
	if len(asked) != 3 {
		t.Fatalf("%d are asked", len(asked))
	}
	vote := func(p *replica.Peer, epoch uint64) int {
		x.OnCompared(p, &wire.Compared{Epoch: epoch, Space: x.r.ID, ID: 1, Known: true})
		return len(site.Eff.Reply)
	}
	for _, p := range asked {
		if vote(p, 4) != 0 {
			t.Fatal("votes of an older view answer the read")
		}
	}
	for range 2 {
		if vote(asked[0], 5) != 0 {
			t.Fatal("one vote beside the own one answers the read")
		}
	}
	if vote(asked[1], 5) != 1 || site.Eff.Reply[0].ID != 1 || site.Eff.Reply[0].Err != nil || x.Len() != 0 {
		t.Errorf("answered %v with three of five, %d wait", site.Eff.Reply, x.Len())
	}
	if err := x.Check(); err != nil {
		t.Error(err)
	}
}

// While the votes that are there do not agree, a reader waits for others: a while at most, when a majority of each view
// has voted. A vote that comes twice is one.
func TestVotesThatDoNotAgreeAreWaitedFor(t *testing.T) {
	for _, last := range []int{2, 3} { // which of the four peers that are asked votes after two others
		site := newSite(1, 2, 3, 4, 5, 6, 7)
		site.Cfg.GapDelay = time.Millisecond
		x := newLinear(site, all(site), quorum.Set[*replica.Peer]{Epoch: 4, Size: 1, Peers: site.Peers[5:]})
		x.begin()
		asked, until := slices.Clone(x.comparing.asked), x.Deadline()
		slices.SortFunc(asked, func(a, b *replica.Peer) int { return cmp.Compare(a.ID, b.ID) })
		if len(asked) != 4 || asked[3].ID != 7 {
			t.Fatalf("%d are asked", len(asked))
		}
		if last == 3 { // then the only one of the older view has voted
			until = site.Now.Add(site.Cfg.GapDelay)
		}
		for _, i := range []int{0, 0, 0, 0, 1, last} {
			x.OnCompared(asked[i], &wire.Compared{Epoch: 5, Space: x.r.ID, ID: 1, Known: true, Differ: []uint32{0}})
			if err := x.Check(); err != nil {
				t.Fatal(err)
			}
		}
		if x.comparing == nil || len(x.comparing.votes) != 3 || !x.Deadline().Equal(until) || len(site.Eff.Reply) != 0 {
			t.Errorf("answered %v, and it waits until %v, want %v", site.Eff.Reply, x.Deadline(), until)
		}
	}
}

// A question that comes late, after a newer one of the same reader, is not answered, and freezes
// nothing.
func TestALateQuestionIsNotAnswered(t *testing.T) {
	site := newSite(1, 2)
	ops, r := operation.NewInflight(site), replica.New(site, keyspace.Volatile, &quorum.Chain{})
	var sets quorum.Joint[*replica.Peer]
	gaps, frozen := exchange.NewGaps(r, nil), 0
	x := NewLinear(r, &ops, &sets, &gaps, func(string, time.Duration) { frozen++ })
	for _, q := range []struct {
		id       uint64
		answered bool
	}{{2, true}, {1, false}, {2, true}, {3, true}, {2, false}} {
		site.Eff.Send, frozen = nil, 0
		x.OnCompare(site.Peers[0], &wire.Compare{
			Epoch: 5, Space: r.ID, ID: q.id, Hash: r.ContentHash(), More: &crdt.Clock{}, Hold: 1, Keys: []string{"k"},
		})
		if got := len(site.Eff.Send) == 1 && frozen == 1; got != q.answered {
			t.Errorf("question %d: %v, %d keys frozen", q.id, site.Eff.Send, frozen)
		}
	}
}
