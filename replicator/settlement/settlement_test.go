package settlement

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// The views that no member knows of are filled in when every member has said so under the installed
// view. What it has said under an earlier one is not that.
func TestOnlyWordsUnderTheInstalledViewCount(t *testing.T) {
	site := replica.NewSite(settings.Config{
		Self: 1, RetryInterval: time.Second, FrameMax: 1 << 16, GroupMax: 1 << 16,
	}, rand.New(rand.NewPCG(1, 1)))
	site.Now = time.Unix(1000, 0)
	v := replica.View{Epoch: 5, Voters: []replica.Member{{ID: 1}, {ID: 2}, {ID: 3}}}
	site.Install(v, [keyspace.Count]uint64{})
	var s Settlement
	r := replica.New(&site, keyspace.Volatile, s.Unsettled())
	acks := exchange.NewPusher(r)
	gaps := exchange.NewGaps(r, nil)
	s = New(r, &acks, &gaps, func() {})
	s.Follow(replica.View{}, v)
	for _, p := range site.Peers {
		s.OnReport(p, &wire.Report{Epoch: 4, Settled: 3})
	}
	if s.maybeFill(); s.Quorums().Complete() || s.Unsettled().Settled() != 3 {
		t.Fatalf("views are filled in, settled %d", s.Unsettled().Settled())
	}
	s.OnReport(site.Peers[0], &wire.Report{Epoch: 5, Settled: 3})
	if s.maybeFill(); s.Quorums().Complete() {
		t.Error("views are filled in before all have said which they know")
	}
	s.OnReport(site.Peers[1], &wire.Report{Epoch: 5, Settled: 3})
	if s.maybeFill(); !s.Quorums().Complete() {
		t.Error("views that no member knows of are not filled in")
	}
	if err := s.Check(); err != nil {
		t.Error(err)
	}
}

// When the quorums change, what was asked of the old ones is asked anew.
func TestASettledViewIsAskedAnew(t *testing.T) {
	site := replica.NewSite(settings.Config{
		Self: 1, RetryInterval: time.Second, FrameMax: 1 << 16, GroupMax: 1 << 16,
	}, rand.New(rand.NewPCG(1, 1)))
	v := replica.View{Epoch: 5, Voters: []replica.Member{{ID: 1}, {ID: 2}, {ID: 3}}}
	site.Install(v, [keyspace.Count]uint64{})
	var s Settlement
	r := replica.New(&site, keyspace.Volatile, s.Unsettled())
	acks, gaps, asked := exchange.NewPusher(r), exchange.NewGaps(r, nil), 0
	s = New(r, &acks, &gaps, func() {
		if asked++; !s.Quorums().Complete() {
			t.Error("the new quorums are not there yet")
		}
	})
	s.Follow(replica.View{}, v)
	if asked != 0 || s.Quorums().Complete() {
		t.Fatalf("asked %d times before the view is settled", asked)
	}
	if s.Claim(5); asked != 1 || s.Unsettled().Unsettled() {
		t.Errorf("asked %d times, settled %d", asked, s.Unsettled().Settled())
	}
	if s.Claim(5); asked != 1 {
		t.Error("asked again without news")
	}
}
