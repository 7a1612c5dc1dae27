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
		BatchRowsMax: 10, BatchBytesMax: 1 << 20,
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

// A view is settled at once where nothing can have been acknowledged before it: in a new cluster, after a cold start in
// data that is on no disk, and where no member has the role.
func TestWhatIsSettledFromTheBeginning(t *testing.T) {
	disks := [][]uint64{{1, 2}}
	for _, c := range []struct {
		what    string
		space   keyspace.Space
		prev    uint64
		founded bool
		disks   [][]uint64
		voters  int
		settled uint64
	}{
		{"a new cluster", keyspace.Volatile, 0, true, nil, 3, 5},
		{"a new cluster, durable", keyspace.Durable, 0, true, nil, 3, 5},
		{"a cold start", keyspace.Volatile, 0, true, disks, 3, 5},
		{"a cold start, durable", keyspace.Durable, 0, true, disks, 3, 4},
		{"a cold start, a role without voters", keyspace.Durable, 0, true, disks, 0, 5},
		{"a joiner", keyspace.Durable, 0, false, nil, 3, 0},
		{"a joiner, a role without voters", keyspace.Volatile, 0, false, nil, 0, 5},
		{"the view after the founding one", keyspace.Durable, 4, true, disks, 3, 0},
		{"the next view", keyspace.Volatile, 4, false, nil, 3, 0},
	} {
		site, v := newSite()
		v.Founded, v.LastDisks, v.Voters = c.founded, c.disks, v.Voters[:c.voters]
		site.Install(v, [keyspace.Count]uint64{})
		var s Settlement
		r := replica.New(site, c.space, s.Unsettled())
		acks, gaps := exchange.NewPusher(r), exchange.NewGaps(r, nil)
		s = New(r, &acks, &gaps, func() {})
		s.Follow(replica.View{Epoch: c.prev, Voters: []replica.Member{{ID: 1}, {ID: 2}}}, v)
		if got, err := s.Unsettled().Settled(), s.Check(); got != c.settled || err != nil {
			t.Errorf("%s: settled %d, want %d; %v", c.what, got, c.settled, err)
		}
		if again := s.Deadline(); again.IsZero() != (c.settled == v.Epoch) {
			t.Errorf("%s: asks again at %v", c.what, again)
		}
		if got := len(s.Unsettled().Pasts()); (got == 1) != (c.settled == 4 || c.prev > 0) {
			t.Errorf("%s: %d views before it count", c.what, got)
		}
		for _, told := range site.Eff.Settled {
			if told.Lost || told.Epoch != v.Epoch {
				t.Errorf("%s: told %+v", c.what, told)
			}
		}
	}
}

// What is on its way to the disk is not reported (R7).
func TestAReportIsOfWhatIsOnDisk(t *testing.T) {
	site, v := newSite()
	var s Settlement
	r := replica.New(site, keyspace.Durable, s.Unsettled())
	acks, gaps := exchange.NewPusher(r), exchange.NewGaps(r, nil)
	s = New(r, &acks, &gaps, func() {})
	put := func(tx *crdt.Tx) error { return tx.Put("p", "v", nil) }
	if _, err := r.Items.Update("k", 0, put, &r.Changes); err != nil {
		t.Fatal(err)
	}
	r.Absorb()
	reports := func() (hashes [][16]byte) {
		for _, e := range site.Eff.Send {
			if msg, ok := e.Msg.(*wire.Report); ok {
				hashes = append(hashes, msg.Hash)
			}
		}
		site.Eff.Send = nil
		return hashes
	}
	s.Follow(replica.View{}, v)
	if got := reports(); len(got) == 0 || got[0] != (&crdt.Clock{}).Hash() || got[0] == r.ContentHash() {
		t.Errorf("reported %x before the disk has it", got)
	}
	r.Persist()
	r.Disk.Written(site.Eff.Persist[0].ID)
	v.Epoch++
	s.Follow(replica.View{}, v)
	if got := reports(); len(got) == 0 || got[0] != r.ContentHash() {
		t.Errorf("reported %x, want %x", got, r.ContentHash())
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
