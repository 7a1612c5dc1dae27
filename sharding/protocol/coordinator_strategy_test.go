package protocol

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/allocation"
)

// panics is a user's strategy that does nothing else.
type panics struct{}

func (panics) Allocate(UID, ShardID, *allocation.Allocations) (UID, bool) { panic("no idea") }
func (panics) Rebalance(*allocation.Allocations, []ShardID) []ShardID     { panic("no idea") }

// reigns is a coordinator that acts, with members that have reported what they host.
func reigns(t *testing.T, cfg Config, hosted map[UID][]ShardID, members ...UID) *lone {
	cfg.Type, cfg.Self = "t", 1
	if cfg.Shards == 0 {
		cfg.Shards = 4
	}
	l := newLoneOf(t, cfg, members...)
	if l.c.needs.Locations {
		l.step(DidRead{ID: 3})
	}
	for _, u := range members {
		var hs []Hosted
		for _, s := range hosted[u] {
			tok := Token{1, 1, uint64(s) + 1}
			l.c.takeover.table = append(l.c.takeover.table, Entry{Shard: s, Home: u, Token: tok})
			hs = append(hs, Hosted{Shard: s, Phase: PhaseRunning, Token: tok})
		}
		l.report(u, hs...)
	}
	for id := range uint64(9) {
		l.step(Wrote{ID: id})
	}
	if !l.c.Acts() {
		t.Fatal("it does not act")
	}
	return l
}

func (l *lone) get(shards ...ShardID) string {
	return l.step(Receive{From: 1, Msg: GetHomes{Shards: shards}})
}

// answer lets the strategy answer the first question that is open.
func (l *lone) answer() string {
	l.t.Helper()
	if len(l.asked) == 0 {
		l.t.Fatal("nothing is asked")
	}
	q := l.asked[0]
	l.asked = l.asked[1:]
	return l.step(Advised{Advice: q.Ask(l.c.cfg.Strategy)})
}

func (l *lone) after(d time.Duration) string {
	l.now = l.now.Add(d)
	return l.step(Tick{})
}

func (l *lone) counted(want string) {
	l.t.Helper()
	if !slices.ContainsFunc(l.c.Stats(), func(c Counter) bool { return c.String() == want }) {
		l.t.Errorf("stats %v, want %s", l.c.Stats(), want)
	}
}

// TestStrategyAside: a user's strategy is asked one question at a time; what is wanted meanwhile is
// asked next, and nothing else waits.
func TestStrategyAside(t *testing.T) {
	l := reigns(t, Config{Strategy: fixed(2)}, map[UID][]ShardID{1: {3}}, 1, 2)
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
		l := reigns(t, Config{Strategy: tc.s}, nil, 1, 2)
		l.get(0)
		l.expect(l.answer(), "homes 0→1", tc.want)
		l.counted("strategy-faults=1")
	}
	l := reigns(t, Config{Strategy: fixed(0)}, nil, 1, 2)
	l.get(0)
	if got := l.answer(); strings.Contains(got, "write") || len(l.asked) > 0 {
		t.Errorf("a strategy that says not now: %s", got)
	}
	if l.after(time.Second); len(l.asked) != 1 {
		t.Error("it is not asked again")
	}
}

func TestStrategyRebalancesNonsense(t *testing.T) {
	l := reigns(t, Config{Strategy: fixed(2)}, map[UID][]ShardID{2: {0}}, 1, 2)
	l.expect(l.after(time.Minute), "balance")
	got := l.answer()
	l.expect(got, "strategy-refused! 99")
	if n := strings.Count(got, "begin"); n != 2 || len(l.c.moves) != 1 {
		t.Errorf("%d Begin and %d hand-offs for a shard named twice and one that does not exist", n, len(l.c.moves))
	}
	l = reigns(t, Config{Strategy: panics{}}, map[UID][]ShardID{2: {0}}, 1, 2)
	l.after(time.Minute)
	l.expect(l.answer(), "strategy-failed!")
	if len(l.c.moves) > 0 {
		t.Error("a panic moved something")
	}
}

// TestStrategyStuck: a strategy that does not answer delays nothing. While it is out the default
// answers; then it is asked again.
func TestStrategyStuck(t *testing.T) {
	l := reigns(t, Config{Strategy: fixed(2), StrategyTimeout: 3 * time.Second, RebalanceInterval: -1}, nil, 1, 2)
	l.get(0)
	if got := l.after(2 * time.Second); strings.Contains(got, "stuck") {
		t.Fatalf("too soon: %s", got)
	}
	l.expect(l.after(2*time.Second), "strategy-stuck! 0 count=1", "homes 0→1")
	if got := l.get(1); strings.Contains(got, "consult") || !strings.Contains(got, "homes 1→2") { // the one with fewer shards
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
	l := reigns(t, Config{Strategy: fixed(2)}, nil, 1, 2)
	l.get(0)
	l.step(Install{View: viewOf(2, 1)}) // node 2 is gone
	if got := l.answer(); strings.Contains(got, "homes") {
		t.Errorf("it lives on a node that is gone: %s", got)
	}
	l.after(time.Second)
	l.expect(l.answer(), "strategy-refused!", "homes 0→1")

	l = reigns(t, Config{Strategy: fixed(2)}, nil, 1, 2)
	l.get(0)
	l.step(Install{View: viewOf(2, 2)}) // not the oldest any more
	if got := l.answer(); got != "" {
		t.Errorf("an answer to a coordinator that does not act: %s", got)
	}
}

// TestGates: each keeps the balance from being looked at, and each has its switch.
func TestGates(t *testing.T) {
	view := func(change func(*membership.Member)) func(*lone) {
		return func(l *lone) {
			v := viewOf(2, 1, 2, 3)
			change(&v.Members[2])
			l.step(Install{View: v})
		}
	}
	for _, tc := range []struct {
		name string
		shut func(*lone)
		open Config
	}{
		{"mixed versions", view(func(m *membership.Member) { m.AppVersion = "2" }), Config{RebalanceMixedVersions: true}},
		{"joining", view(func(m *membership.Member) { m.Status = membership.Joining }), Config{RebalanceJoining: true}},
		{"unreachable", func(l *lone) { l.step(Reachable{UID: 3}) }, Config{RebalanceUnreachable: true}},
	} {
		for _, open := range []bool{false, true} {
			cfg := Config{}
			if open {
				cfg = tc.open
			}
			l := reigns(t, cfg, map[UID][]ShardID{1: {0, 1, 2, 3}}, 1, 2, 3)
			tc.shut(l)
			if got := strings.Contains(l.after(11*time.Second), "begin"); got != open {
				t.Errorf("%s, switch %v: moves %v", tc.name, open, got)
			}
		}
	}
}

// TestRebalanceDelay: members that come and go put the look at the balance off.
func TestRebalanceDelay(t *testing.T) {
	l := reigns(t, Config{RebalanceDelay: 30 * time.Second}, map[UID][]ShardID{1: {0, 1, 2, 3}}, 1, 2)
	for range 2 {
		if got := l.after(10 * time.Second); strings.Contains(got, "begin") {
			t.Fatalf("too soon: %s", got)
		}
	}
	l.step(Install{View: viewOf(2, 1, 2, 3)})
	for range 2 {
		if got := l.after(10 * time.Second); strings.Contains(got, "begin") {
			t.Fatalf("too soon after a member joined: %s", got)
		}
	}
	l.expect(l.after(10*time.Second), "begin")
}

// TestNewestVersion: what needs a home goes to the newest version, however much is there.
func TestNewestVersion(t *testing.T) {
	l := reigns(t, Config{}, map[UID][]ShardID{2: {0, 1, 2}}, 1, 2)
	v := viewOf(2, 1, 2)
	v.Members[1].AppVersion = "1.1"
	l.step(Install{View: v})
	l.expect(l.get(3), "homes 3→2")
}

// TestPendingChoicesCount: allocations that are under way are part of what the strategy sees, so
// that shards asked for at once are spread (A21 of the reference's defects).
func TestPendingChoicesCount(t *testing.T) {
	l := reigns(t, Config{Shards: 90}, nil, 1, 2, 3)
	for s := range ShardID(90) {
		l.get(s)
	}
	for u := range UID(3) {
		if n := l.c.peers[u+1].count; n != 30 {
			t.Errorf("region %d gets %d of 90 shards", u+1, n)
		}
	}
}

// TestRehomedAtOnce: the shards of a node that is gone have new homes in the step that takes it
// out, with no traffic, and its gates do not count.
func TestRehomedAtOnce(t *testing.T) {
	l := reigns(t, Config{RebalanceDelay: time.Hour}, map[UID][]ShardID{1: {0}, 2: {1, 2}, 3: {3}}, 1, 2, 3)
	l.step(Reachable{UID: 3})
	l.expect(l.step(Install{View: viewOf(2, 1, 3)}), "homes 1→1", "2→3")
}

// TestLoadsSteer: what regions report decides what moves and where to; reports about others' shards
// do not count.
func TestLoadsSteer(t *testing.T) {
	l := reigns(t, Config{Strategy: allocation.LoadAware{}, Shards: 8}, map[UID][]ShardID{1: {0, 1, 2}, 2: {3, 4, 5}}, 1, 2)
	report := func(from UID, ls ...ShardLoad) {
		l.step(Receive{From: from, Msg: Loads{Period: 5 * time.Second, Shards: ls}})
	}
	late := l.c.counts[countLate]
	report(1, ShardLoad{Shard: 0, Messages: 9000, HandlerTime: time.Second}, ShardLoad{Shard: 1, Messages: 8000, HandlerTime: time.Second},
		ShardLoad{Shard: 2, Messages: 10})
	report(2, ShardLoad{Shard: 3, Messages: 10}, ShardLoad{Shard: 4, Messages: 10}, ShardLoad{Shard: 5, Messages: 10},
		ShardLoad{Shard: 0, Messages: 1e9}, ShardLoad{Shard: 88})
	if got := l.c.counts[countLate] - late; got != 1 {
		t.Errorf("%d reports of shards of others counted", got)
	}
	l.counted("out-of-range=1")
	if x, ok := (facts{l.c}).Load(0); !ok || x.Messages != 1800 || x.HandlerTime != 0.2 {
		t.Errorf("load of shard 0: %+v", x)
	}
	l.expect(l.get(6), "homes 6→2")
	got := l.after(11 * time.Second)
	if !strings.Contains(got, "begin 0@") && !strings.Contains(got, "begin 1@") || strings.Contains(got, "begin 2@") {
		t.Errorf("moves %s", got)
	}
	other := reigns(t, Config{}, nil, 1)
	other.step(Receive{From: 1, Msg: Loads{Period: time.Second}})
	other.counted("ignored=1")
}

// TestLoadAwareTakesItsTime: a strategy that looks at loads is told what is on the move, so that it
// waits for the round before, and when each shard has moved, so that it leaves it where it is for
// RestAfterMove.
func TestLoadAwareTakesItsTime(t *testing.T) {
	const rest = 5 * time.Minute
	cfg := Config{Strategy: allocation.LoadAware{RestAfterMove: rest, RebalanceAbsoluteLimit: 1}, Shards: 4, BeginTimeout: time.Hour, HandOffTimeout: time.Hour}
	l := reigns(t, cfg, map[UID][]ShardID{1: {0, 1, 2, 3}}, 1, 2)
	load := map[UID]uint64{1: 1000, 2: 1000}
	round := func() (moves []ShardID) {
		for u := UID(1); u <= 2; u++ {
			report := Loads{Period: time.Second}
			for s := range ShardID(4) {
				if l.c.shards[s].home == u {
					report.Shards = append(report.Shards, ShardLoad{Shard: s, Messages: load[u], HandlerTime: time.Duration(load[u]) * time.Microsecond})
				}
			}
			l.step(Receive{From: u, Msg: report})
		}
		before := slices.Collect(maps.Keys(l.c.moves)) // order: only looked up
		l.after(11 * time.Second)
		for s := range ShardID(4) {
			if l.c.moves[s] != nil && !slices.Contains(before, s) {
				moves = append(moves, s)
			}
		}
		return moves
	}
	arrive := func(s ShardID) {
		l.step(Receive{From: l.c.shards[s].home, Msg: ShardsStopped{Shards: []ShardToken{{s, l.c.moves[s].id}}}})
		for id := range uint64(90) {
			l.step(Wrote{ID: id})
		}
		l.step(Receive{From: l.c.shards[s].home, Msg: Started{Shards: []ShardToken{{s, l.c.shards[s].token}}}})
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
		if home := l.c.shards[moves[0]].home; home != 2 {
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
	if moves := round(); len(moves) != 1 || l.c.shards[moves[0]].home != 2 {
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
	l := reigns(t, Config{Strategy: allocation.External{}}, map[UID][]ShardID{1: {0, 1}}, 1, 2)
	l.step(Install{View: view})
	l.step(LocationsChanged{Put: []Location{{3, "n2:1"}, {0, "n2:1"}}})
	l.expect(l.get(2, 3), "2→1@", "3→2@")
	got := l.after(11 * time.Second)
	l.expect(got, "begin 0@")
	l.step(LocationsChanged{Removed: []ShardID{0}})
	l.step(Receive{From: 1, Msg: ShardsStopped{Shards: []ShardToken{{0, l.c.moves[0].id}}}})
	if l.c.shards[0].home != 2 { // no region asks, so the one with fewer
		t.Errorf("shard 0 lives on %v", l.c.shards[0].home)
	}

	c := newLoneOf(t, Config{Type: "t", Self: 1, Shards: 4, Strategy: allocation.External{}}, 1, 2)
	c.report(1)
	if c.c.mode != reading {
		t.Fatal("it goes on before it knows the locations")
	}
	c.step(DidRead{ID: 3, Err: errStage})
	c.after(time.Second)
	c.expect(c.step(DidRead{ID: 4, Locations: []Location{{1, "n2:1"}}}), "inquire")
	if got := (facts{c.c}).Location(1); got != "n2:1" {
		t.Errorf("location %q", got)
	}
}

// TestRegionReportsLoads: only what has changed, now and then all of it, and all of it to each new
// coordinator.
func TestRegionReportsLoads(t *testing.T) {
	r, err := NewRegion(Config{Type: "t", Self: 2, Shards: 8}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	r.Step(now, Install{View: viewOf(1, 1, 2)})
	measure := func(ls ...ShardLoad) string {
		return r.Step(now, Measured{Period: time.Second, Shards: ls}).String()
	}
	a, b := ShardLoad{Shard: 1, Messages: 100, Entities: 10}, ShardLoad{Shard: 2, Messages: 50}
	if got := measure(a); got != "" {
		t.Errorf("to nobody: %s", got)
	}
	r.Step(now, Receive{From: 1, Msg: Registered{Floor: Token{1, 1, 1}}})
	if got := measure(a, b); got != "→1 loads 1s 1:100/0s/10 2:50/0s/0\n" {
		t.Errorf("the first: %s", got)
	}
	b.Messages = 100
	a.Messages = 105
	if got := measure(a, b); got != "→1 loads 1s 2:100/0s/0\n" {
		t.Errorf("what has changed: %s", got)
	}
	if got := measure(a, b); got != "" {
		t.Errorf("nothing has changed: %s", got)
	}
	all := 0
	for range 2 * allLoads {
		if got := measure(a, b); got != "" {
			all++
		}
	}
	if all != 2 {
		t.Errorf("all was reported %d times", all)
	}
}

// closing makes a view one in which the whole cluster shuts down.
func closing(v *membership.View) *membership.View {
	v.Closing = true
	return v
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// TestLeaveMovesNothingElse: a region that leaves gives its own shards away, once, and nothing else
// moves, while it goes and after.
func TestLeaveMovesNothingElse(t *testing.T) {
	l := reigns(t, Config{Shards: 6}, map[UID][]ShardID{1: {0, 1}, 2: {2, 3}, 3: {4, 5}}, 1, 2, 3)
	l.step(Receive{From: 2, Msg: LeaveRequest{}})
	for s := ShardID(2); s < 4; s++ {
		l.step(Receive{From: 2, Msg: ShardsStopped{Shards: []ShardToken{{s, l.c.moves[s].id}}}})
	}
	for id := range uint64(30) {
		l.step(Wrote{ID: id})
	}
	for s := ShardID(2); s < 4; s++ {
		st := l.c.shards[s]
		l.step(Receive{From: st.home, Msg: Started{Shards: []ShardToken{{s, st.token}}}})
	}
	l.step(Install{View: viewOf(2, 1, 3)})
	for range 3 {
		l.after(11 * time.Second)
	}
	if n := l.c.counts[countHandOffs]; n != 2 {
		t.Errorf("%d hand-offs for two shards", n)
	}
}

// TestAllLeave: when every node of the role is leaving, none is sent what another has, and each is
// told to stop by itself.
func TestAllLeave(t *testing.T) {
	l := reigns(t, Config{}, map[UID][]ShardID{1: {0, 1}, 2: {2, 3}}, 1, 2)
	v := viewOf(2, 1, 2)
	v.Members[0].Status, v.Members[1].Status = membership.Leaving, membership.Leaving
	l.step(Install{View: v})
	for _, u := range []UID{2, 1} {
		if got := l.step(Receive{From: u, Msg: LeaveRequest{}}); !strings.Contains(got, "alone") || strings.Contains(got, "begin") {
			t.Errorf("to %d: %s", u, got)
		}
	}
	if got := l.after(time.Minute); strings.Contains(got, "begin") || strings.Contains(got, "write") {
		t.Errorf("then: %s", got)
	}
}
