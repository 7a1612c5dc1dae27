package coordinator

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/protocol/region"
)

// fixed is a user's strategy that names one home, whatever it is, and moves what does not exist.
type fixed protocol.UID

func (f fixed) Allocate(protocol.UID, protocol.ShardID, *allocation.Allocations) (protocol.UID, bool) {
	return protocol.UID(f), f != 0
}
func (f fixed) Rebalance(*allocation.Allocations, []protocol.ShardID) []protocol.ShardID {
	return []protocol.ShardID{0, 0, 99}
}

// errStore is why a read or a write fails.
var errStore = errors.New("no majority")

// lone is a coordinator without a world: the test is its world.
type lone struct {
	t     *testing.T
	c     *Coordinator
	now   time.Time
	asked []*allocation.Consultation // and not answered yet
}

func newLone(t *testing.T, s allocation.Strategy, members ...protocol.UID) *lone {
	return newLoneOf(t, protocol.Config{
		Identity: protocol.Identity{Name: "t", Shards: 4},
		Self:     1, Allocation: protocol.Allocation{Strategy: s},
	}, members...)
}

func newLoneOf(t *testing.T, cfg protocol.Config, members ...protocol.UID) *lone {
	c, err := New(cfg, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	l := &lone{t: t, c: c, now: time.Unix(0, 0)}
	l.step(protocol.LeaseChanged{Held: true})
	l.step(protocol.Install{View: viewOf(1, members...)})
	l.step(protocol.DidRead{ID: 1})
	l.step(protocol.DidRead{ID: 2})
	return l
}

// offering is a view whose members all offer a type, the oldest first.
func offering(v *view.View, t protocol.Identity) *view.View {
	v.Enlist(func(view.UID) []view.Service { return []view.Service{t.Service()} })
	return v
}

func viewOf(e view.Epoch, us ...protocol.UID) *view.View {
	v := &view.View{Epoch: e}
	for _, u := range us {
		v.Members = append(v.Members, view.Member{UID: u, Status: view.Up, UpNumber: uint32(u)})
	}
	return offering(v, protocol.Identity{Name: "t"})
}

func (l *lone) step(in protocol.CoordinatorInput) string {
	l.t.Helper()
	fx := l.c.Step(l.now, in)
	l.asked = append(l.asked, fx.Consult...)
	s := fx.String()
	if err := l.c.Check(); err != nil {
		l.t.Fatalf("%T%+v: %v", in, in, err)
	}
	return s
}

func (l *lone) report(from protocol.UID, hs ...protocol.Hosted) string {
	return l.step(protocol.Receive{
		From: from, Msg: protocol.Report{
			Floor: l.c.term.registrar.floor, Parts: 1, Compatibility: l.c.cfg.Compatibility(), Shards: hs,
			Proxy: l.c.cfg.Proxy && from == l.c.cfg.Self,
		},
	})
}

func (l *lone) expect(got string, parts ...string) {
	l.t.Helper()
	for _, p := range parts {
		if !strings.Contains(got, p) {
			l.t.Errorf("%q is missing in:\n%s", p, got)
		}
	}
}

// TestRestartInTheSameView: a coordinator that was started again on its node finds tokens of its
// own epoch; its commands go beyond them.
func TestRestartInTheSameView(t *testing.T) {
	l := newLone(t, nil, 1, 2)
	l.report(1, protocol.Hosted{Shard: 0, Phase: protocol.PhaseNone, Barrier: protocol.Token{Epoch: 1, Up: 1, Seq: 40}})
	l.report(2, protocol.Hosted{
		Shard: 1, Phase: protocol.PhaseRunning, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 50},
	})
	for s := range protocol.ShardID(2) {
		if tok := l.c.term.homes.shards[s].token; !(protocol.Token{Epoch: 1, Up: 1, Seq: 50}).Less(tok) {
			t.Errorf("shard %d: token %v", s, tok)
		}
	}
}

// TestTakeoverOfABeginThatTheOwnerMissed: the owner runs the shard as the table says and knows of
// no hand-off, but another region has begun to buffer for one. The entry is written again, above
// that hand-off. Otherwise the other region would wait without end.
func TestTakeoverOfABeginThatTheOwnerMissed(t *testing.T) {
	l := newLone(t, nil, 1, 2, 3)
	tok, handOff := protocol.Token{Epoch: 1, Up: 1, Seq: 5}, protocol.Token{Epoch: 1, Up: 1, Seq: 6}
	l.c.term.takeover.table = []protocol.Entry{{Shard: 3, Home: 2, Token: tok}}
	l.report(1)
	l.report(2, protocol.Hosted{Shard: 3, Phase: protocol.PhaseRunning, Token: tok})
	got := l.report(3, protocol.Hosted{Shard: 3, Phase: protocol.PhaseNone, Barrier: handOff})
	l.expect(got, "homes 3→2@")
	if again := l.c.term.homes.shards[3].token; !handOff.Less(again) {
		t.Errorf("the token %v releases nothing that waits for %v", again, handOff)
	}
}

// TestRegionStartedAgain: a region that registers as one that never routed hosts nothing, whatever
// its predecessor on that node had.
func TestRegionStartedAgain(t *testing.T) {
	l := newLone(t, nil, 1, 2)
	tok := protocol.Token{Epoch: 1, Up: 1, Seq: 5}
	l.c.term.takeover.table = []protocol.Entry{{Shard: 3, Home: 2, Token: tok}}
	l.report(1)
	l.report(2, protocol.Hosted{Shard: 3, Phase: protocol.PhaseRunning, Token: tok})
	if got := l.step(protocol.Receive{From: 2, Msg: protocol.Register{Joined: true,
		Compatibility: protocol.Compatibility{Shards: 4, ShardOf: "xxhash"}}}); strings.Contains(got, "homes") {
		t.Errorf("a region that runs is commanded again:\n%s", got)
	}
	l.expect(l.step(protocol.Receive{From: 2,
		Msg: protocol.Register{
			Compatibility: protocol.Compatibility{Shards: 4, ShardOf: "xxhash"},
		}}), "homes 3→2@1.1.6")
}

// TestDoubleHost: two nodes say that they host a shard. That cannot happen; if it does, the one
// with the later command keeps it, and the new entry tells the other to stop.
func TestDoubleHost(t *testing.T) {
	l := newLone(t, nil, 1, 2)
	l.report(1, protocol.Hosted{Shard: 3, Phase: protocol.PhaseRunning, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 5}})
	got := l.report(2, protocol.Hosted{
		Shard: 3, Phase: protocol.PhaseRunning, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 6},
	})
	l.expect(got, "double-host! 3 peer=1", "homes 3→2")
}

// TestTakeoverOfAnotherLease: a region that takes other leases keeps what a takeover finds there,
// as it routes alike, but is given nothing more.
func TestTakeoverOfAnotherLease(t *testing.T) {
	l := newLone(t, nil, 1, 2)
	tok := protocol.Token{Epoch: 1, Up: 1, Seq: 5}
	l.c.term.takeover.table = []protocol.Entry{{Shard: 3, Home: 2, Token: tok}}
	l.report(1)
	other := l.c.cfg.Compatibility()
	other.Lease = "elsewhere"
	got := l.step(protocol.Receive{
		From: 2, Msg: protocol.Report{
			Floor: l.c.term.registrar.floor, Parts: 1, Compatibility: other, Shards: []protocol.Hosted{
				{Shard: 3, Phase: protocol.PhaseRunning, Token: tok},
			},
		},
	})
	l.expect(got, "type-mismatch! peer=2")
	got = l.step(protocol.Receive{From: 1, Msg: protocol.GetHomes{Shards: []protocol.ShardID{0, 1, 2, 3}}})
	l.expect(got, "0→1", "1→1", "2→1", "3→2")
}

// TestReportInParts: the report of a region that hosts many shards comes in parts, in any order and
// repeated.
func TestReportInParts(t *testing.T) {
	l := newLone(t, nil, 1)
	part := func(i uint32, s protocol.ShardID) string {
		h := protocol.Hosted{Shard: s, Phase: protocol.PhaseRunning, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 1}}
		return l.step(protocol.Receive{
			From: 1, Msg: protocol.Report{
				Floor: l.c.term.registrar.floor, Part: i, Parts: 3, Compatibility: l.c.cfg.Compatibility(),
				Shards: []protocol.Hosted{h},
			},
		})
	}
	for _, i := range []uint32{2, 0, 0, 2} {
		if got := part(i, protocol.ShardID(i)); strings.Contains(got, "started") {
			t.Fatalf("it acts after part %d: %s", i, got)
		}
	}
	got := part(1, 1)
	l.expect(got, "coordinator-started", "homes 0→1", "1→1", "2→1")
	if strings.Contains(got, "double-host") {
		t.Errorf("one host counts twice, because its report came twice:\n%s", got)
	}
}

// TestReportsAreNotMixed: a part of a report is lost, and the region has changed before it is asked
// again. What is left of the first answer says nothing beside the second: shard 2, which the first
// part had and the lost one had not, would be missing, and would live in two places.
func TestReportsAreNotMixed(t *testing.T) {
	l := newLone(t, nil, 1)
	part := func(answer, i, parts uint32, ss ...protocol.ShardID) string {
		m := protocol.Report{
			Floor: l.c.term.registrar.floor, Answer: answer, Part: i, Parts: parts,
			Compatibility: l.c.cfg.Compatibility(),
		}
		for _, s := range ss {
			m.Shards = append(m.Shards, protocol.Hosted{
				Shard: s, Phase: protocol.PhaseRunning, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 1},
			})
		}
		return l.step(protocol.Receive{From: 1, Msg: m})
	}
	for _, got := range []string{
		part(1, 0, 2, 0, 1), // its second part, with 2 and 3, is lost
		part(2, 1, 2, 3),    // shard 0 is gone, and 2 is in the first part now
		part(1, 1, 2, 2, 3), // late
	} {
		if strings.Contains(got, "started") {
			t.Fatalf("it acts on parts of two answers: %s", got)
		}
	}
	l.expect(part(2, 0, 2, 1, 2), "coordinator-started", "homes 1→1", "2→1", "3→1")

	l = newLone(t, nil, 1)
	if got := part(1, 0, 2, 0, 1); strings.Contains(got, "started") {
		t.Fatalf("it acts on half of an answer: %s", got)
	}
	l.expect(part(2, 0, 1, 1), "coordinator-started", "homes 1→1") // it fits into one part now
}

// TestTakeoverLosesMember: a member that is asked and does not answer holds the takeover up until
// the view drops it.
func TestTakeoverLosesMember(t *testing.T) {
	l := newLone(t, nil, 1, 2, 3)
	l.report(1)
	l.report(3, protocol.Hosted{Shard: 1, Phase: protocol.PhaseRunning, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 1}})
	l.now = l.now.Add(time.Second)
	l.expect(l.step(protocol.Tick{}), "→2 inquire")
	if l.c.Acts() {
		t.Fatal("it acts although node 2 may host anything")
	}
	l.expect(l.step(protocol.Install{View: viewOf(2, 1, 2)}), "") // node 3 is gone, and with it what it said
	l.expect(l.step(protocol.Install{View: viewOf(3, 1)}), "coordinator-started")
	if l.c.term.homes.shards[1].state != stateUnallocated {
		t.Errorf("the word of a node that is gone still counts: %v", l.c)
	}
}

func TestReadsAreRepeated(t *testing.T) {
	c, err := New(protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 4},
		Self: 1, Remember: protocol.Remember[protocol.StoreID]{Entities: true}}, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	l := &lone{t: t, c: c, now: time.Unix(0, 0)}
	l.step(protocol.LeaseChanged{Held: true})
	l.expect(l.step(protocol.Install{View: viewOf(1, 1)}), "read #1 homes", "read #2 regions", "read #3 remembered")
	for id := range uint64(3) {
		l.step(protocol.DidRead{ID: id + 1, Err: errStore})
	}
	l.now = l.now.Add(time.Second)
	l.expect(l.step(protocol.Tick{}), "read #4 homes", "read #5 regions", "read #6 remembered")
	l.step(protocol.DidRead{ID: 4})
	l.step(protocol.DidRead{ID: 5})
	l.report(1)
	// late, but not lost
	l.expect(l.step(protocol.DidRead{ID: 6, Shards: []protocol.ShardID{2, 9}}), "homes 2→1",
		"remembered-beyond-range 9")
	if !slices.ContainsFunc(c.Stats(), func(c protocol.Counter) bool { return c.String() == "state-errors=3" }) {
		t.Errorf("stats %v", c.Stats())
	}
}

func TestOutOfRange(t *testing.T) {
	l := newLone(t, nil, 1)
	l.report(1)
	l.step(protocol.Receive{From: 1, Msg: protocol.GetHomes{Shards: []protocol.ShardID{4, protocol.ShardsMax - 1}}})
	l.step(protocol.Receive{From: 1, Msg: protocol.Started{Shards: []protocol.ShardToken{{Shard: 9}}}})
	l.step(protocol.TableChanged{
		Entries: []protocol.Entry{{Shard: 77, Home: 1, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 1}}},
	})
	if l.c.counts[protocol.CountOutOfRange] != 4 {
		t.Errorf("counted %d", l.c.counts[protocol.CountOutOfRange])
	}
}

// A takeover finds a shard at the home that the table names, under the same token, but on its way
// out. Its region has seen the entry that takes the hand-off back, and no majority has that entry.
// So the region reports no barrier, and no other region has heard of the hand-off. The new
// coordinator tells the region to go on, or the shard would wait without end.
func TestTakeoverOfAHandOffThatNobodyReports(t *testing.T) {
	tok := protocol.Token{Epoch: 1, Up: 1, Seq: 5}
	for phase := protocol.PhaseRunning; phase <= protocol.PhaseStopping; phase++ {
		l := newLoneOf(t, protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 1}, 1, 2)
		l.c.term.takeover.table = []protocol.Entry{{Shard: 0, Home: 2, Token: tok}}
		l.report(1)
		got := l.report(2, protocol.Hosted{Shard: 0, Phase: phase, Token: tok})
		if told := strings.Contains(got, "0→2@"); told != (phase > protocol.PhaseRunning) {
			t.Errorf("phase %d: told anew is %v:\n%s", phase, told, got)
		}
	}
}

// A region that may leave stays until it knows where its shard has gone: till then messages of its
// node wait for that.
func TestLeavesWhenTheNextHomeIsKnown(t *testing.T) {
	r, err := region.New(protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 2}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	tok := func(seq uint64) protocol.Token { return protocol.Token{Epoch: 1, Up: 1, Seq: seq} }
	var fx *protocol.RegionEffects
	for _, in := range []protocol.RegionInput{
		protocol.LeaseChanged{Held: true}, protocol.Install{View: viewOf(1, 1, 2)}, protocol.Receive{
			From: 1, Msg: protocol.Registered{Floor: tok(1), Since: tok(1)},
		},
		protocol.Receive{From: 1, Msg: protocol.HostShards{Shards: []protocol.ShardToken{{Shard: 0, Token: tok(2)}}}},
		protocol.ShardStarted{Shard: 0}, protocol.Leave{},
		protocol.Receive{From: 1, Msg: protocol.Begin{Moves: []protocol.Move{{Shard: 0, HandOff: tok(3), Owner: 2}}}},
		protocol.ShardDrained{Shard: 0, HandOff: tok(3)}, protocol.ShardStopped{Shard: 0, HandOff: tok(3)},
		protocol.Receive{From: 1, Msg: protocol.LeaveReply{Done: true, Floor: tok(1)}},
	} {
		if fx = r.Step(time.Unix(0, 0), in); fx.Left {
			t.Errorf("%v: it has left", in)
		}
	}
	if fx = r.Step(time.Unix(0, 0), protocol.TableChanged{
		Entries: []protocol.Entry{{Shard: 0, Home: 1, Token: tok(4)}},
	}); !fx.Left {
		t.Error("it has not left")
	}
}

// A proxy gives nothing away, so it has left as soon as nothing waits in it, whether or not a
// coordinator answers.
func TestProxyLeavesAtOnce(t *testing.T) {
	cfg := protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 2, Proxy: true}
	r, err := region.New(cfg, newRand())
	if err != nil {
		t.Fatal(err)
	}
	tok := protocol.Token{Epoch: 1, Up: 1, Seq: 1}
	for _, in := range []protocol.RegionInput{
		protocol.LeaseChanged{Held: true}, protocol.Install{View: viewOf(1, 1, 2)},
		protocol.Receive{From: 1, Msg: protocol.Registered{Floor: tok, Since: tok}},
		protocol.Wanted{Shard: 0}, protocol.Leave{},
	} {
		if fx := r.Step(time.Unix(0, 0), in); fx.Left {
			t.Errorf("%v: it has left", in)
		}
	}
	if fx := r.Step(time.Unix(0, 0), protocol.Receive{
		From: 1, Msg: protocol.Homes{
			Entries: []protocol.Entry{{Shard: 0, Home: 1, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 2}}},
		},
	}); !fx.Left {
		t.Error("it has not left")
	}
}

// TestUnconfirmedIsGivenNothing: a region that has not said that it knows of its registration may
// leave without asking. It is told again, and is given shards when it has confirmed.
func TestUnconfirmedIsGivenNothing(t *testing.T) {
	l := newLone(t, nil, 1)
	l.report(1)
	l.step(protocol.Install{View: viewOf(2, 1, 2)})
	l.step(protocol.Receive{From: 2, Msg: protocol.Register{
		Compatibility: protocol.Compatibility{Shards: 4, ShardOf: "xxhash"},
	}})
	var got string
	for id := range l.c.term.store.writes { // order: there is one
		got += l.step(protocol.Wrote{ID: id})
	}
	l.expect(got, "→2 registered")
	ask := func(s protocol.ShardID) string {
		return l.step(protocol.Receive{From: 1, Msg: protocol.GetHomes{Shards: []protocol.ShardID{s}}})
	}
	l.expect(ask(0), "0→1@")
	got = ""
	for range 4 {
		l.now = l.now.Add(time.Second)
		got += l.step(protocol.Tick{})
	}
	l.expect(got, "→2 registered")
	l.step(protocol.Receive{From: 2, Msg: protocol.Confirm{Life: 1}})
	l.expect(ask(1), "1→1@")
	l.step(protocol.Receive{From: 2, Msg: protocol.Confirm{}})
	l.expect(ask(2), "2→2@")
}

// TestALostLeaseIsAskedForAgain: the term ends with the lease, and after a pause the coordinator
// asks for it again, while the node is the one that coordinates.
func TestALostLeaseIsAskedForAgain(t *testing.T) {
	cfg := protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 1}
	cfg.Leases.Coordinator = "elsewhere"
	l := newLoneOf(t, cfg, 1)
	l.step(protocol.LeaseGranted{Gen: 1})
	lost := l.now
	l.step(protocol.LeaseLost{Gen: 1, Text: "stolen"})
	for l.c.Deadline().Before(lost.Add(l.c.cfg.Leases.RetryInterval)) {
		if l.now = l.c.Deadline(); l.now.IsZero() {
			t.Fatal("it waits for nothing")
		}
		if got := l.step(protocol.Tick{}); strings.Contains(got, "lease acquire") {
			t.Fatalf("it asks again after %v", l.now.Sub(lost))
		}
	}
	l.now = lost.Add(l.c.cfg.Leases.RetryInterval)
	l.expect(l.step(protocol.Tick{}), "lease acquire #2")
}

// TestAHandOffWaitsForNoneThatIsGone: a region that was removed answers no Begin. A hand-off that
// waited for it would be given up and begun again.
func TestAHandOffWaitsForNoneThatIsGone(t *testing.T) {
	l := acting(t, protocol.Config{}, map[protocol.UID][]protocol.ShardID{2: {3}}, 1, 2, 3)
	l.expect(l.step(protocol.Receive{From: 2, Msg: protocol.LeaveRequest{}}), "begin 3")
	m := l.c.term.homes.moves[3]
	if m == nil {
		t.Fatal("no hand-off is under way")
	}
	for _, u := range []protocol.UID{1, 2} {
		l.step(protocol.Receive{From: u, Msg: protocol.BeginAck{
			Shards: []protocol.ShardToken{{Shard: 3, Token: m.id}},
		}})
	}
	if st := l.c.term.homes.shards[3].state; st != stateFencing || m.waiting.count != 1 {
		t.Fatalf("it is %s, and waits for %v", shardStepNames[st], m.waiting.list())
	}
	l.step(protocol.Install{View: viewOf(2, 1, 2)})
	if st := l.c.term.homes.shards[3].state; st != stateStopping || m.waiting.count != 0 {
		t.Errorf("it is %s, and waits for %v", shardStepNames[st], m.waiting.list())
	}
}
