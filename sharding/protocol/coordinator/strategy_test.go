package coordinator

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// panics is a user's strategy that does nothing else.
type panics struct{}

func (panics) Allocate(protocol.UID, protocol.ShardID, *allocation.Allocations) (protocol.UID, bool) {
	panic("no idea")
}
func (panics) Rebalance(*allocation.Allocations, []protocol.ShardID) []protocol.ShardID {
	panic("no idea")
}

// acting is a coordinator that acts, with members that have reported what they host.
func acting(t *testing.T, cfg protocol.Config, hosted map[protocol.UID][]protocol.ShardID,
	members ...protocol.UID) *lone {
	cfg.Name, cfg.Self = "t", 1
	if cfg.Shards == 0 {
		cfg.Shards = 4
	}
	l := newLoneOf(t, cfg, members...)
	if l.c.term.homes.picture.needs.Locations {
		l.step(protocol.DidRead{ID: 3})
	}
	for _, u := range members {
		var hs []protocol.Hosted
		for _, s := range hosted[u] {
			tok := protocol.Token{Epoch: 1, Up: 1, Seq: uint64(s) + 1}
			l.c.term.takeover.table = append(l.c.term.takeover.table, protocol.Entry{Shard: s, Home: u, Token: tok})
			hs = append(hs, protocol.Hosted{Shard: s, Phase: protocol.PhaseRunning, Token: tok})
		}
		l.report(u, hs...)
	}
	for id := range uint64(9) {
		l.step(protocol.Wrote{ID: id})
	}
	if !l.c.Acts() {
		t.Fatal("it does not act")
	}
	return l
}

func (l *lone) get(shards ...protocol.ShardID) string {
	return l.step(protocol.Receive{From: 1, Msg: protocol.GetHomes{Shards: shards}})
}

// answer lets the strategy answer the first question that is open.
func (l *lone) answer() string {
	l.t.Helper()
	if len(l.asked) == 0 {
		l.t.Fatal("nothing is asked")
	}
	q := l.asked[0]
	l.asked = l.asked[1:]
	return l.step(protocol.Advised{Advice: q.Ask(l.c.cfg.Allocation.Strategy)})
}

func (l *lone) after(d time.Duration) string {
	l.now = l.now.Add(d)
	return l.step(protocol.Tick{})
}

func (l *lone) counted(want string) {
	l.t.Helper()
	if !slices.ContainsFunc(l.c.Stats(), func(c protocol.Counter) bool { return c.String() == want }) {
		l.t.Errorf("stats %v, want %s", l.c.Stats(), want)
	}
}

// TestStrategyAside: a user's strategy is asked one question at a time; what is wanted meanwhile is
// asked next, and nothing else waits.
func TestStrategyAside(t *testing.T) {
	l := acting(t, protocol.Config{Allocation: protocol.Allocation{Strategy: fixed(2)}},
		map[protocol.UID][]protocol.ShardID{1: {3}}, 1, 2)
	if got := l.get(0); !strings.Contains(got, "consult") || strings.Contains(got, "write") {
		t.Fatalf("asked for a home: %s", got)
	}
	if got := l.get(1, 2, 3); strings.Contains(got, "consult") || !strings.Contains(got, "homes 3→1") {
		t.Errorf("while a question is open: %s", got)
	}
	l.expect(l.answer(), "homes 0→2", "consult #", " 1 2\n")
	l.expect(l.answer(), "homes 1→2@1.1.6 2→2")
	if len(l.asked) > 0 {
		t.Error("it asks on")
	}
}

// TestStrategyMisbehaves: whatever a strategy names or does, each shard has a home in the end, and
// the fault is reported.
func TestStrategyMisbehaves(t *testing.T) {
	for _, tc := range []struct {
		s    allocation.Strategy
		want string
	}{{fixed(7), "strategy-refused! 0 peer=7"}, {panics{}, `strategy-failed! 0 "no idea"`}} {
		l := acting(t, protocol.Config{Allocation: protocol.Allocation{Strategy: tc.s}}, nil, 1, 2)
		l.get(0)
		l.expect(l.answer(), "homes 0→1", tc.want)
		l.counted("strategy-faults=1")
	}
	l := acting(t, protocol.Config{Allocation: protocol.Allocation{Strategy: fixed(0)}}, nil, 1, 2)
	l.get(0)
	if got := l.answer(); strings.Contains(got, "write") || len(l.asked) > 0 {
		t.Errorf("a strategy that says not now: %s", got)
	}
	if l.after(time.Second); len(l.asked) != 1 {
		t.Error("it is not asked again")
	}
}

func TestStrategyRebalancesNonsense(t *testing.T) {
	l := acting(t, protocol.Config{Allocation: protocol.Allocation{Strategy: fixed(2)}},
		map[protocol.UID][]protocol.ShardID{2: {0}}, 1, 2)
	l.expect(l.after(time.Minute), "balance")
	got := l.answer()
	l.expect(got, "strategy-refused! 99")
	if n := strings.Count(got, "begin"); n != 2 || len(l.c.term.homes.moves) != 1 {
		t.Errorf("%d Begin and %d hand-offs for a shard named twice and one that does not exist",
			n, len(l.c.term.homes.moves))
	}
	l = acting(t, protocol.Config{Allocation: protocol.Allocation{Strategy: panics{}}},
		map[protocol.UID][]protocol.ShardID{2: {0}}, 1, 2)
	l.after(time.Minute)
	l.expect(l.answer(), "strategy-failed!")
	if len(l.c.term.homes.moves) > 0 {
		t.Error("a panic moved something")
	}
}

// TestStrategyStuck: a strategy that does not answer delays nothing. While it is out the default
// answers; then it is asked again.
func TestStrategyStuck(t *testing.T) {
	l := acting(t, protocol.Config{
		Allocation: protocol.Allocation{Strategy: fixed(2), StrategyTimeout: 3 * time.Second},
		Rebalance:  protocol.Rebalance{Interval: -1},
	}, nil, 1, 2)
	l.get(0)
	if got := l.after(2 * time.Second); strings.Contains(got, "stuck") {
		t.Fatalf("too soon: %s", got)
	}
	l.expect(l.after(2*time.Second), "strategy-stuck! 0 count=1", "homes 0→1")
	// the one with fewer shards
	if got := l.get(1); strings.Contains(got, "consult") || !strings.Contains(got, "homes 1→2") {
		t.Errorf("while it is out: %s", got)
	}
	if got := l.answer(); strings.Contains(got, "homes") {
		t.Errorf("an answer that comes late: %s", got)
	}
	l.expect(l.get(2), "consult")
	l.expect(l.answer(), "homes 2→2")
}

// TestStrategyAnswersTooLate: what has changed between question and answer is not undone by the
// answer.
func TestStrategyAnswersTooLate(t *testing.T) {
	l := acting(t, protocol.Config{Allocation: protocol.Allocation{Strategy: fixed(2)}}, nil, 1, 2)
	l.get(0)
	l.step(protocol.Install{View: viewOf(2, 1)}) // node 2 is gone
	if got := l.answer(); strings.Contains(got, "homes") {
		t.Errorf("it lives on a node that is gone: %s", got)
	}
	l.after(time.Second)
	l.expect(l.answer(), "strategy-refused!", "homes 0→1")

	l = acting(t, protocol.Config{Allocation: protocol.Allocation{Strategy: fixed(2)}}, nil, 1, 2)
	l.get(0)
	l.step(protocol.Install{View: viewOf(2, 2)}) // not the oldest any more
	if got := l.answer(); got != "" {
		t.Errorf("an answer to a coordinator that does not act: %s", got)
	}
}

// TestGates: each keeps the balance from being looked at, and each has its switch.
func TestGates(t *testing.T) {
	viewWith := func(change func(*view.Member)) func(*lone) {
		return func(l *lone) {
			v := viewOf(2, 1, 2, 3)
			change(&v.Members[2])
			l.step(protocol.Install{View: v})
		}
	}
	for _, tc := range []struct {
		name string
		shut func(*lone)
		open protocol.Config
	}{
		{"mixed versions", viewWith(func(m *view.Member) { m.AppVersion = "2" }),
			protocol.Config{Rebalance: protocol.Rebalance{MixedVersions: true}}},
		{"joining", viewWith(func(m *view.Member) { m.Status = view.Joining }),
			protocol.Config{Rebalance: protocol.Rebalance{Joining: true}}},
		{"unreachable", func(l *lone) {
			l.step(protocol.Reachable{UID: 3})
		}, protocol.Config{Rebalance: protocol.Rebalance{Unreachable: true}}},
	} {
		for _, open := range []bool{false, true} {
			cfg := protocol.Config{}
			if open {
				cfg = tc.open
			}
			l := acting(t, cfg, map[protocol.UID][]protocol.ShardID{1: {0, 1, 2, 3}}, 1, 2, 3)
			tc.shut(l)
			if got := strings.Contains(l.after(11*time.Second), "begin"); got != open {
				t.Errorf("%s, switch %v: moves %v", tc.name, open, got)
			}
		}
	}
}

// TestRebalanceDelay: members that come and go put the look at the balance off.
func TestRebalanceDelay(t *testing.T) {
	l := acting(t, protocol.Config{Rebalance: protocol.Rebalance{Delay: 30 * time.Second}},
		map[protocol.UID][]protocol.ShardID{1: {0, 1, 2, 3}}, 1, 2)
	for range 2 {
		if got := l.after(10 * time.Second); strings.Contains(got, "begin") {
			t.Fatalf("too soon: %s", got)
		}
	}
	l.step(protocol.Install{View: viewOf(2, 1, 2, 3)})
	for range 2 {
		if got := l.after(10 * time.Second); strings.Contains(got, "begin") {
			t.Fatalf("too soon after a member joined: %s", got)
		}
	}
	l.expect(l.after(10*time.Second), "begin")
}

// TestNewestVersion: what needs a home goes to the newest version, however much is there.
func TestNewestVersion(t *testing.T) {
	l := acting(t, protocol.Config{}, map[protocol.UID][]protocol.ShardID{2: {0, 1, 2}}, 1, 2)
	v := viewOf(2, 1, 2)
	v.Members[1].AppVersion = "1.1"
	l.step(protocol.Install{View: v})
	l.expect(l.get(3), "homes 3→2")
}

// TestPendingChoicesCount: allocations that are under way are part of what the strategy sees, so
// that shards asked for at once are spread (A21 of the reference's defects).
func TestPendingChoicesCount(t *testing.T) {
	l := acting(t, protocol.Config{Identity: protocol.Identity{Shards: 90}}, nil, 1, 2, 3)
	for s := range protocol.ShardID(90) {
		l.get(s)
	}
	for u := range protocol.UID(3) {
		if n := l.c.term.homes.regions.peers[u+1].count; n != 30 {
			t.Errorf("region %d gets %d of 90 shards", u+1, n)
		}
	}
}

// TestRehomedAtOnce: the shards of a node that is gone have new homes in the step that takes it
// out, with no traffic, and its gates do not count.
func TestRehomedAtOnce(t *testing.T) {
	l := acting(t, protocol.Config{Rebalance: protocol.Rebalance{Delay: time.Hour}},
		map[protocol.UID][]protocol.ShardID{1: {0}, 2: {1, 2}, 3: {3}}, 1, 2, 3)
	l.step(protocol.Reachable{UID: 3})
	l.expect(l.step(protocol.Install{View: viewOf(2, 1, 3)}), "homes 1→1", "2→3")
}

// TestLoadsSteer: what regions report decides what moves and where to; reports about others' shards
// do not count.
func TestLoadsSteer(t *testing.T) {
	l := acting(t, protocol.Config{
		Allocation: protocol.Allocation{Strategy: allocation.LoadAware{}}, Identity: protocol.Identity{Shards: 8},
	},
		map[protocol.UID][]protocol.ShardID{1: {0, 1, 2}, 2: {3, 4, 5}}, 1, 2)
	report := func(from protocol.UID, ls ...protocol.ShardLoad) {
		l.step(protocol.Receive{From: from, Msg: protocol.Loads{Period: 5 * time.Second, Shards: ls}})
	}
	late := l.c.counts[protocol.CountLate]
	report(1, protocol.ShardLoad{Shard: 0, Messages: 9000, HandlerTime: time.Second},
		protocol.ShardLoad{Shard: 1, Messages: 8000, HandlerTime: time.Second},
		protocol.ShardLoad{Shard: 2, Messages: 10})
	report(2, protocol.ShardLoad{Shard: 3, Messages: 10}, protocol.ShardLoad{Shard: 4, Messages: 10},
		protocol.ShardLoad{Shard: 5, Messages: 10},
		protocol.ShardLoad{Shard: 0, Messages: 1e9}, protocol.ShardLoad{Shard: 88})
	if got := l.c.counts[protocol.CountLate] - late; got != 1 {
		t.Errorf("%d reports of shards of others counted", got)
	}
	l.counted("out-of-range=1")
	if x, ok := (facts{&l.c.term.homes}).Load(0); !ok || x.Messages != 1800 || x.HandlerTime != 0.2 {
		t.Errorf("load of shard 0: %+v", x)
	}
	l.expect(l.get(6), "homes 6→2")
	got := l.after(11 * time.Second)
	if !strings.Contains(got, "begin 0@") && !strings.Contains(got, "begin 1@") || strings.Contains(got, "begin 2@") {
		t.Errorf("moves %s", got)
	}
	other := acting(t, protocol.Config{}, nil, 1)
	other.step(protocol.Receive{From: 1, Msg: protocol.Loads{Period: time.Second}})
	other.counted("ignored=1")
}

// TestLoadAwareTakesItsTime: a strategy that looks at loads is told what is on the move, so that it
// waits for the round before, and when each shard has moved, so that it leaves it where it is for
// RestAfterMove.
func TestLoadAwareTakesItsTime(t *testing.T) {
	const rest = 5 * time.Minute
	cfg := protocol.Config{
		Allocation: protocol.Allocation{
			Strategy: allocation.LoadAware{RestAfterMove: rest, RebalanceAbsoluteLimit: 1},
		}, Identity: protocol.Identity{Shards: 4},
		HandOff: protocol.HandOff{BeginTimeout: time.Hour, FinishTimeout: time.Hour},
	}
	l := acting(t, cfg, map[protocol.UID][]protocol.ShardID{1: {0, 1, 2, 3}}, 1, 2)
	load := map[protocol.UID]uint64{1: 1000, 2: 1000}
	round := func() (moves []protocol.ShardID) {
		for u := protocol.UID(1); u <= 2; u++ {
			report := protocol.Loads{Period: time.Second}
			for s := range protocol.ShardID(4) {
				if l.c.term.homes.shards[s].home == u {
					report.Shards = append(report.Shards, protocol.ShardLoad{
						Shard: s, Messages: load[u], HandlerTime: time.Duration(load[u]) * time.Microsecond,
					})
				}
			}
			l.step(protocol.Receive{From: u, Msg: report})
		}
		before := slices.Collect(maps.Keys(l.c.term.homes.moves)) // order: only looked up
		l.after(11 * time.Second)
		for s := range protocol.ShardID(4) {
			if l.c.term.homes.moves[s] != nil && !slices.Contains(before, s) {
				moves = append(moves, s)
			}
		}
		return moves
	}
	arrive := func(s protocol.ShardID) {
		l.step(protocol.Receive{
			From: l.c.term.homes.shards[s].home, Msg: protocol.ShardsStopped{
				Shards: []protocol.ShardToken{{Shard: s, Token: l.c.term.homes.moves[s].id}},
			},
		})
		for id := range uint64(90) {
			l.step(protocol.Wrote{ID: id})
		}
		l.step(protocol.Receive{
			From: l.c.term.homes.shards[s].home, Msg: protocol.Started{
				Shards: []protocol.ShardToken{{Shard: s, Token: l.c.term.homes.shards[s].token}},
			},
		})
	}
	for i := range 2 {
		moves := round()
		if len(moves) != 1 {
			t.Fatalf("round %d moves %v", i, moves)
		}
		if more := round(); len(more) > 0 {
			t.Errorf("%v begins to move while %v is on its way", more, moves)
		}
		arrive(moves[0])
		if home := l.c.term.homes.shards[moves[0]].home; home != 2 {
			t.Fatalf("it goes to %v", home)
		}
	}
	if moves := round(); len(moves) > 0 {
		t.Errorf("moves %v although the loads are even", moves)
	}
	load[1], load[2] = 1, 9000
	if moves := round(); len(moves) > 0 {
		t.Errorf("moves %v, which has just come", moves)
	}
	l.now = l.now.Add(rest)
	if moves := round(); len(moves) != 1 || l.c.term.homes.shards[moves[0]].home != 2 {
		t.Errorf("moves %v when all have rested", moves)
	}
}

// TestLocationsSteer: a client's wish is known before the coordinator acts, and followed when it
// changes.
func TestLocationsSteer(t *testing.T) {
	view := viewOf(2, 1, 2)
	for i := range view.Members {
		view.Members[i].Addr = fmt.Sprint("n", view.Members[i].UID, ":1")
	}
	l := acting(t, protocol.Config{Allocation: protocol.Allocation{Strategy: allocation.External{}}},
		map[protocol.UID][]protocol.ShardID{1: {0, 1}}, 1, 2)
	l.step(protocol.Install{View: view})
	l.step(protocol.LocationsChanged{Put: []protocol.Location{{Shard: 3, Addr: "n2:1"}, {Shard: 0, Addr: "n2:1"}}})
	l.expect(l.get(2, 3), "2→1@", "3→2@")
	got := l.after(11 * time.Second)
	l.expect(got, "begin 0@")
	l.step(protocol.LocationsChanged{Removed: []protocol.ShardID{0}})
	l.step(protocol.Receive{
		From: 1, Msg: protocol.ShardsStopped{
			Shards: []protocol.ShardToken{{Shard: 0, Token: l.c.term.homes.moves[0].id}},
		},
	})
	if l.c.term.homes.shards[0].home != 2 { // no region asks, so the one with fewer
		t.Errorf("shard 0 lives on %v", l.c.term.homes.shards[0].home)
	}

	c := newLoneOf(t, protocol.Config{
		Identity: protocol.Identity{Name: "t", Shards: 4},
		Self:     1, Allocation: protocol.Allocation{Strategy: allocation.External{}},
	}, 1, 2)
	c.report(1)
	if c.c.term.mode != reading {
		t.Fatal("it goes on before it knows the locations")
	}
	c.step(protocol.DidRead{ID: 3, Err: errStore})
	c.after(time.Second)
	c.expect(c.step(protocol.DidRead{ID: 4, Locations: []protocol.Location{{Shard: 1, Addr: "n2:1"}}}), "inquire")
	if got := (facts{&c.c.term.homes}).Location(1); got != "n2:1" {
		t.Errorf("location %q", got)
	}
}

// closing makes a view one in which the whole cluster shuts down.
func closing(v *view.View) *view.View {
	v.Closing = true
	return v
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// TestLeaveMovesNothingElse: a region that leaves gives its own shards away, once, and nothing else
// moves, while it goes and after.
func TestLeaveMovesNothingElse(t *testing.T) {
	l := acting(t, protocol.Config{Identity: protocol.Identity{Shards: 6}},
		map[protocol.UID][]protocol.ShardID{1: {0, 1}, 2: {2, 3}, 3: {4, 5}}, 1, 2, 3)
	l.step(protocol.Receive{From: 2, Msg: protocol.LeaveRequest{}})
	for s := protocol.ShardID(2); s < 4; s++ {
		l.step(protocol.Receive{
			From: 2, Msg: protocol.ShardsStopped{
				Shards: []protocol.ShardToken{{Shard: s, Token: l.c.term.homes.moves[s].id}},
			},
		})
	}
	for id := range uint64(30) {
		l.step(protocol.Wrote{ID: id})
	}
	for s := protocol.ShardID(2); s < 4; s++ {
		st := l.c.term.homes.shards[s]
		l.step(protocol.Receive{
			From: st.home, Msg: protocol.Started{Shards: []protocol.ShardToken{{Shard: s, Token: st.token}}},
		})
	}
	l.step(protocol.Install{View: viewOf(2, 1, 3)})
	for range 3 {
		l.after(11 * time.Second)
	}
	if n := l.c.counts[protocol.CountHandOffs]; n != 2 {
		t.Errorf("%d hand-offs for two shards", n)
	}
}

// TestAllLeave: when every node of the role is leaving, none is sent what another has, and each is
// told to stop by itself.
func TestAllLeave(t *testing.T) {
	l := acting(t, protocol.Config{}, map[protocol.UID][]protocol.ShardID{1: {0, 1}, 2: {2, 3}}, 1, 2)
	v := viewOf(2, 1, 2)
	v.Members[0].Status, v.Members[1].Status = view.Leaving, view.Leaving
	l.step(protocol.Install{View: v})
	for _, u := range []protocol.UID{2, 1} {
		if got := l.step(protocol.Receive{From: u, Msg: protocol.LeaveRequest{}}); !strings.Contains(got, "alone") ||
			strings.Contains(got, "begin") {
			t.Errorf("to %d: %s", u, got)
		}
	}
	if got := l.after(time.Minute); strings.Contains(got, "begin") || strings.Contains(got, "write") {
		t.Errorf("then: %s", got)
	}
}
