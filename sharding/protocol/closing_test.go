package protocol

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership"
)

// TestClosingCoordinator: while the cluster shuts down, a shard that never had a home still gets
// one for a message. A shard that had a home gets no other one, whether its home left, died, or
// said so before the coordinator knew. Nothing that is remembered starts.
func TestClosingCoordinator(t *testing.T) {
	l := reigns(t, Config{Shards: 8}, map[UID][]ShardID{1: {0, 1}, 2: {2}, 3: {3, 4}}, 1, 2, 3)
	l.step(Receive{From: 2, Msg: LeaveRequest{Left: true, Closing: true}}) // it has heard of it before the coordinator
	l.step(Install{View: closing(viewOf(2, 1, 2, 3))})
	l.expect(l.step(Receive{From: 3, Msg: LeaveRequest{}}), "alone")
	l.step(Install{View: closing(viewOf(3, 1, 2))}) // 3 has died
	if got := l.step(RememberedChanged{Shards: []ShardID{2, 5}}); strings.Contains(got, "write") {
		t.Errorf("a remembered shard gets a home: %s", got)
	}
	got := l.get(2, 3, 4)
	if l.expect(got, "ended 2 3 4"); strings.Contains(got, "write") || strings.Contains(got, "home") {
		t.Errorf("what has lost its home gets another: %s", got)
	}
	l.expect(l.get(0), "homes 0→1")
	l.expect(l.get(6), "write", "homes 6→")
	if got := l.after(time.Minute); strings.Contains(got, "begin") {
		t.Errorf("something moves: %s", got)
	}
	for s, want := range []shardStep{stateHosted, stateHosted, stateEnded, stateEnded, stateEnded, stateUnallocated} {
		if got := l.c.shards[s].state; got != want {
			t.Errorf("shard %d is %s, want %s", s, shardStepNames[got], shardStepNames[want])
		}
	}
}

// TestClosingRegion: a region whose node leaves while the cluster shuts down stops its shards
// without asking, answers every Begin (A18), also one for a shard that it has stopped already, and
// has left when all are stopped.
func TestClosingRegion(t *testing.T) {
	r, err := NewRegion(Config{Type: "t", Self: 2, Shards: 4}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	step := func(in RegionInput) *RegionEffects {
		t.Helper()
		fx := r.Step(now, in)
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		return fx
	}
	sent := func(fx *RegionEffects, want string) {
		t.Helper()
		if !slices.ContainsFunc(fx.Send, func(e Envelope) bool { return e.To == 1 && e.Msg.String() == want }) {
			t.Errorf("%v is sent, want %q", fx.Send, want)
		}
	}
	tok := func(seq uint64) Token { return Token{1, 1, seq} }
	step(Lease{Held: true})
	step(Install{View: viewOf(1, 1, 2, 3)})
	step(Receive{From: 1, Msg: Registered{Floor: tok(1), Since: tok(1)}})
	step(Receive{From: 1, Msg: HostShards{Shards: []ShardToken{{0, tok(2)}, {1, tok(3)}}}})
	step(ShardStarted{0})
	step(ShardStarted{1})
	step(Install{View: closing(viewOf(2, 1, 2, 3))})
	fx := step(Leave{})
	if len(fx.Send) > 0 || len(fx.Do) == 0 {
		t.Errorf("it asks %v and does %v", fx.Send, fx.Do)
	}
	id := r.moves[0].id
	step(ShardDrained{0, id})
	step(ShardStopped{0, id})
	sent(step(Receive{From: 1, Msg: Begin{Moves: []Move{{0, tok(9), 2}}, Regions: []UID{1, 3}}}), "begin-ack 0@1.1.9")
	fx = step(Receive{From: 1, Msg: Begin{Moves: []Move{{0, tok(9), 2}}, Regions: []UID{1, 3}}})
	sent(fx, "stopped 0@1.1.9")
	sent(step(Receive{From: 1, Msg: Begin{Moves: []Move{{1, tok(10), 2}}, Regions: []UID{1, 3}}}), "begin-ack 1@1.1.10")
	id = r.moves[1].id
	step(ShardDrained{1, id})
	fx = step(ShardStopped{1, id})
	sent(fx, "leave-request left closing")
	if !fx.Left {
		t.Error("it has not left")
	}
}

// A dropped region has no deadline, even if it was about to ask. A deadline that no Step moves
// would keep the driver's loop busy without end.
func TestDroppedRegionWantsNothing(t *testing.T) {
	r, err := NewRegion(Config{Type: "t", Self: 2, Shards: 4}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	for _, in := range []RegionInput{
		Lease{Held: true}, Install{View: viewOf(1, 1, 2)}, Receive{From: 1, Msg: Registered{Floor: Token{1, 1, 1}, Since: Token{1, 1, 1}}},
		Wanted{Shard: 0}, Wanted{Shard: 1}, // the second question waits for the first
	} {
		r.Step(now, in)
	}
	if r.Deadline().IsZero() {
		t.Fatal("nothing is asked")
	}
	r.Step(now, Dropped{})
	if !r.Deadline().IsZero() || r.Check() != nil {
		t.Errorf("wants a Tick at %v: %v", r.Deadline(), r.Check())
	}
}

// TestEndedRegion: messages for shards that get no home any more are dropped at once. That holds
// when the coordinator says so, and when no coordinator is left to say it.
func TestEndedRegion(t *testing.T) {
	r, err := NewRegion(Config{Type: "t", Role: "backend", Self: 9, Shards: 4, Proxy: true}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	step := func(in RegionInput, want string) {
		t.Helper()
		fx := r.Step(time.Unix(0, 0), in)
		if err := r.Check(); err != nil || fmt.Sprint(fx.Do) != want {
			t.Errorf("%v: %v, want %v; %v", in, fx.Do, want, err)
		}
	}
	proxied := func(e membership.Epoch, us ...UID) *membership.View {
		v := closing(viewOf(e, append(us, 9)...))
		for i := range us {
			v.Members[i].Roles = []string{"backend"}
		}
		return v
	}
	step(Install{View: proxied(1, 1, 2)}, "[]")
	step(Receive{From: 1, Msg: Registered{Floor: Token{1, 1, 1}, Since: Token{1, 1, 1}}}, "[]")
	step(Wanted{0}, "[]")
	step(Wanted{1}, "[]")
	step(Receive{From: 2, Msg: Ended{Shards: []ShardID{0}}}, "[]") // not its affair
	step(Receive{From: 1, Msg: Ended{Shards: []ShardID{0, 2}}}, "[drop 0: ended]")
	step(Install{View: proxied(2)}, "[drop 1: ended]")
	step(Wanted{3}, "[drop 3: ended]")
	if !r.Deadline().IsZero() {
		t.Error("it asks on")
	}
}

// TestQuestionsThatAreOver: a region asks for a home only after the answer to its earlier question.
// It does not ask if the shard is here meanwhile, or has a home. The question would reach the
// coordinator when the shard must be stopped for good, and give it another home.
func TestQuestionsThatAreOver(t *testing.T) {
	r, err := NewRegion(Config{Type: "t", Self: 2, Shards: 4}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	now, tok := time.Unix(0, 0), Token{1, 1, 1}
	for _, in := range []RegionInput{
		Lease{Held: true}, Install{View: viewOf(1, 1, 2)}, Receive{From: 1, Msg: Registered{Floor: tok, Since: tok}}, Wanted{0}, Wanted{1}, Wanted{2}, Wanted{3},
		Receive{From: 1, Msg: HostShards{Shards: []ShardToken{{1, Token{1, 1, 2}}}}}, TableChanged{Entries: []Entry{{3, 1, Token{1, 1, 3}}}},
	} {
		r.Step(now, in)
	}
	if got := fmt.Sprint(r.Step(now.Add(askDelay), Tick{}).Send); got != "[→1 get-homes 2]" {
		t.Error(got)
	}
}
