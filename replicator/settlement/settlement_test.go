package settlement

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/exchange"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/replica"
	"github.com/coterie-go/coterie/replicator/settings"
	"github.com/coterie-go/coterie/replicator/wire"
)

// newSite returns the site of replica 1, and its view of three voters.
func newSite() (*replica.Site, replica.View) {
	site := replica.NewSite(settings.Config{
		Self: 1, RetryInterval: time.Second, FrameMax: 1 << 16, GroupMax: 1 << 16,
	}, rand.New(rand.NewPCG(1, 1)))
	site.Now = time.Unix(1000, 0)
	v := replica.View{Epoch: 5, Voters: []replica.Member{{ID: 1}, {ID: 2}, {ID: 3}}}
	site.Install(v, [keyspace.Count]uint64{})
	return &site, v
}

// The views that no member knows of are filled in when every member has said so under the installed
// view. What it has said under an earlier one is not that.
func TestOnlyWordsUnderTheInstalledViewCount(t *testing.T) {
	site, v := newSite()
	var s Settlement
	r := replica.New(site, keyspace.Volatile, s.Unsettled())
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
	site, v := newSite()
	var s Settlement
	r := replica.New(site, keyspace.Volatile, s.Unsettled())
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

// What was said under a view, and what was found then, counts no more when the next one comes.
func TestEachViewIsSettledAnew(t *testing.T) {
	s, site := follower()
	first := site.View
	s.attempt.goal, s.attempt.lost, s.attempt.told = &crdt.Clock{}, true, true
	for _, p := range site.Peers {
		s.OnReport(p, &wire.Report{Epoch: 5, Settled: 3})
	}
	next := replica.View{Epoch: 7, Voters: first.Voters}
	site.Install(next, [keyspace.Count]uint64{})
	s.Follow(first, next)
	if a := s.attempt; a.goal != nil || a.lost || a.told || a.tries != 0 {
		t.Errorf("the attempt under the next view begins with %+v", a)
	}
	if s.maybeFill(); s.Quorums().Complete() {
		t.Error("views are filled in after words under the view before")
	}
}

// A replica that does not answer yet may contain what it will refuse. It is not counted as one that
// has acknowledged it.
func TestAReplicaThatDoesNotServeAcknowledgesNothing(t *testing.T) {
	s, site := follower()
	p, clock := site.Peers[0], &crdt.Clock{}
	clock.AddRange(1, 1, 3)
	for _, serves := range []bool{false, true} {
		s.OnReport(p, &wire.Report{Epoch: 5, Settled: 3, Acked: clock.Clone(), Serves: serves})
		if got := p.Link(s.r.ID).Acked.Includes(clock); got != serves {
			t.Errorf("serves %v: acknowledged %v", serves, got)
		}
		if s.reports.Of(p.ID) == nil {
			t.Errorf("serves %v: what it reports is lost", serves)
		}
	}
}

// A voter that contains the goal counts when it is known to have installed the view (V7).
func TestAVoterOfAnOlderViewDoesNotSettle(t *testing.T) {
	s, site := follower()
	site.Serves = true
	goal := &crdt.Clock{}
	goal.AddRange(2, 1, 3)
	for _, p := range site.Peers {
		s.OnReport(p, &wire.Report{
			Epoch: 5, Settled: 3, Acked: goal.Clone(), Serves: true,
			Known: []quorum.PastView{{Epoch: 4, Voters: []crdt.Origin{2, 3}}},
		})
		p.Epoch = 4
	}
	if s.Settle(); !s.Unsettled().Unsettled() {
		t.Fatal("settled by voters of an older view")
	}
	if s.attempt.goal == nil || !s.attempt.goal.Includes(goal) {
		t.Fatalf("the goal is %v", s.attempt.goal)
	}
	for i, p := range site.Peers {
		p.Epoch = 5
		if s.Settle(); s.Unsettled().Unsettled() != (i == 0) {
			t.Errorf("with %d of three: settled %d", i+1, s.Unsettled().Settled())
		}
	}
}

// follower returns the settlement of replica 1 of three, which has not been settled under view 5.
func follower() (*Settlement, *replica.Site) {
	site, v := newSite()
	s := new(Settlement)
	r := replica.New(site, keyspace.Volatile, s.Unsettled())
	acks, gaps := exchange.NewPusher(r), exchange.NewGaps(r, repair.NewPuller(repair.Env{}))
	*s = New(r, &acks, &gaps, func() {})
	s.Follow(replica.View{}, v)
	return s, site
}

// A view costs a member some messages, however many members there are: it tells the settlers alone what
// it has acknowledged, and these tell the others that the view is settled.
func TestAViewCostsAMemberAFewMessages(t *testing.T) {
	const members = 100
	views := func() (was, v replica.View) {
		was = replica.View{Epoch: 5}
		for i := range crdt.Origin(members) {
			was.Voters = append(was.Voters, replica.Member{ID: i + 1, UpNumber: uint32(i) + 1})
		}
		v = was
		v.Epoch = 6
		v.Voters = was.Voters[:members-1]
		return was, v
	}
	follow := func(self crdt.Origin) (*replica.Site, *Settlement) {
		site := replica.NewSite(settings.Config{Self: self, RetryInterval: time.Second, FrameMax: 1 << 16},
			rand.New(rand.NewPCG(1, 1)))
		site.Now = time.Unix(1000, 0)
		was, v := views()
		s := &Settlement{}
		site.Install(was, [keyspace.Count]uint64{})
		r := replica.New(&site, keyspace.Volatile, s.Unsettled())
		acks, gaps := exchange.NewPusher(r), exchange.NewGaps(r, nil)
		*s = New(r, &acks, &gaps, func() {})
		s.Follow(replica.View{}, was)
		s.Claim(5)
		site.BecomeCaughtUp()
		site.Eff.Reset()
		site.Install(v, [keyspace.Count]uint64{})
		s.Follow(was, v)
		return &site, s
	}
	site, s := follow(50)
	if got := len(site.Eff.Send); got != replica.SettlersMax {
		t.Errorf("it tells %d members, of %d settlers", got, replica.SettlersMax)
	}
	for range gatherTries {
		site.Eff.Reset()
		site.Now = s.Deadline()
		s.OnTime()
	}
	if got := len(site.Eff.Send); got != members-2 {
		t.Errorf("it asks %d of the others when the settlers do not answer", got)
	}
	site, s = follow(2)
	site.Eff.Reset()
	for _, p := range site.Peers {
		site.Heard(p, 6)
		s.OnReport(p, &wire.Report{Epoch: 6, Serves: true, Settled: 5, Acked: &crdt.Clock{}})
		s.Settle()
	}
	told := map[crdt.Origin]int{}
	for _, e := range site.Eff.Send {
		if m, is := e.Msg.(*wire.Report); is && m.Settled == 6 {
			told[e.To]++
		}
	}
	for _, p := range site.Peers {
		if !site.Settles(p.ID) && told[p.ID] != 1 {
			t.Fatalf("%d members hear that the view is settled, %v %d times", len(told), p.ID, told[p.ID])
		}
	}
}
