package region

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestClosingRegion: a region whose node leaves while the cluster shuts down stops its shards
// without asking, answers every Begin (A18), also one for a shard that it has stopped already, and
// has left when all are stopped.
func TestClosingRegion(t *testing.T) {
	r := newRegion(t, 2)
	now := time.Unix(0, 0)
	step := func(in protocol.RegionInput) *protocol.RegionEffects {
		t.Helper()
		fx := r.Step(now, in)
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		return fx
	}
	sent := func(fx *protocol.RegionEffects, want string) {
		t.Helper()
		if !slices.ContainsFunc(fx.Send, func(e protocol.Envelope) bool {
			return e.To == 1 && e.Msg.String() == want
		}) {
			t.Errorf("%v is sent, want %q", fx.Send, want)
		}
	}
	tok := func(seq uint64) protocol.Token { return protocol.Token{Epoch: 1, Up: 1, Seq: seq} }
	begin := func(shard protocol.ShardID, handOff uint64) protocol.Receive {
		return protocol.Receive{From: 1, Msg: protocol.Begin{
			Moves: []protocol.Move{{Shard: shard, HandOff: tok(handOff), Owner: 2}}, Regions: []protocol.UID{1, 3},
		}}
	}
	step(protocol.LeaseChanged{Held: true})
	step(protocol.Install{View: viewOf(1, 1, 2, 3)})
	step(protocol.Receive{From: 1, Msg: protocol.Registered{Floor: tok(1), Since: tok(1)}})
	step(protocol.Receive{
		From: 1, Msg: protocol.HostShards{
			Shards: []protocol.ShardToken{{Shard: 0, Token: tok(2)}, {Shard: 1, Token: tok(3)}},
		},
	})
	step(protocol.ShardStarted{Shard: 0})
	step(protocol.ShardStarted{Shard: 1})
	step(protocol.Install{View: closing(viewOf(2, 1, 2, 3))})
	fx := step(protocol.Leave{})
	if len(fx.Send) > 0 || len(fx.Do) == 0 {
		t.Errorf("it asks %v and does %v", fx.Send, fx.Do)
	}
	id := r.places.moves[0].id
	step(protocol.ShardDrained{Shard: 0, HandOff: id})
	step(protocol.ShardStopped{Shard: 0, HandOff: id})
	sent(step(begin(0, 9)), "begin-ack 0@1.1.9")
	sent(step(begin(0, 9)), "stopped 0@1.1.9")
	sent(step(begin(1, 10)), "begin-ack 1@1.1.10")
	id = r.places.moves[1].id
	step(protocol.ShardDrained{Shard: 1, HandOff: id})
	fx = step(protocol.ShardStopped{Shard: 1, HandOff: id})
	sent(fx, "leave-request left closing")
	if !fx.Left {
		t.Error("it has not left")
	}
}

// TestClosingRegionFollowsTheTable: one whose node leaves while the cluster shuts down still sends to homes, as soon
// as it has the view in which they were chosen.
func TestClosingRegionFollowsTheTable(t *testing.T) {
	r := newRegion(t, 2)
	chosen := protocol.Token{Epoch: 3, Up: 1, Seq: 1}
	for _, in := range []protocol.RegionInput{
		protocol.LeaseChanged{Held: true}, protocol.Install{View: closing(viewOf(2, 1, 2, 3))},
		protocol.Receive{From: 1, Msg: protocol.Registered{
			Floor: protocol.Token{Epoch: 1, Up: 1, Seq: 1}, Since: protocol.Token{Epoch: 1, Up: 1, Seq: 1},
		}},
		protocol.Leave{}, protocol.TableChanged{Entries: []protocol.Entry{{Shard: 0, Home: 1, Token: chosen}}},
		protocol.Install{View: closing(viewOf(3, 1, 2, 3))},
	} {
		r.Step(time.Unix(0, 0), in)
		if err := r.Check(); err != nil {
			t.Fatalf("%v: %v", in, err)
		}
	}
	if to := r.places.peek(0).route; to != remoteRoute(1, chosen) {
		t.Errorf("the route is %v", to)
	}
}

// A dropped region has no deadline, even if it was about to ask. A deadline that no Step moves
// would keep the driver's loop busy without end.
func TestDroppedRegionWantsNothing(t *testing.T) {
	r := newRegion(t, 2)
	now := time.Unix(0, 0)
	for _, in := range []protocol.RegionInput{
		protocol.LeaseChanged{Held: true}, protocol.Install{View: viewOf(1, 1, 2)}, protocol.Receive{
			From: 1, Msg: protocol.Registered{
				Floor: protocol.Token{Epoch: 1, Up: 1, Seq: 1}, Since: protocol.Token{Epoch: 1, Up: 1, Seq: 1},
			},
		},
		protocol.Wanted{Shard: 0}, protocol.Wanted{Shard: 1}, // the second question waits for the first
	} {
		r.Step(now, in)
	}
	if r.Deadline().IsZero() {
		t.Fatal("nothing is asked")
	}
	r.Step(now, protocol.Dropped{})
	if !r.Deadline().IsZero() || r.Check() != nil {
		t.Errorf("wants a Tick at %v: %v", r.Deadline(), r.Check())
	}
}

// TestEndedRegion: messages for shards that get no home any more are dropped at once. That holds
// when the coordinator says so, and when no coordinator is left to say it.
func TestEndedRegion(t *testing.T) {
	cfg := protocol.Config{Identity: protocol.Identity{Name: "t", Role: "backend", Shards: 4}, Self: 9, Proxy: true}
	r, err := New(cfg, newRand())
	if err != nil {
		t.Fatal(err)
	}
	step := func(in protocol.RegionInput, want string) {
		t.Helper()
		fx := r.Step(time.Unix(0, 0), in)
		if err := r.Check(); err != nil || fmt.Sprint(fx.Do) != want {
			t.Errorf("%v: %v, want %v; %v", in, fx.Do, want, err)
		}
	}
	proxied := func(e view.Epoch, us ...protocol.UID) *view.View {
		v := closing(viewOf(e, append(us, 9)...))
		for i := range us {
			v.Members[i].Roles = []string{"backend"}
		}
		v.Enlist(func(view.UID) []view.Service { return []view.Service{cfg.Service()} })
		return v
	}
	step(protocol.Install{View: proxied(1, 1, 2)}, "[]")
	step(protocol.Receive{
		From: 1, Msg: protocol.Registered{
			Floor: protocol.Token{Epoch: 1, Up: 1, Seq: 1}, Since: protocol.Token{Epoch: 1, Up: 1, Seq: 1},
		},
	}, "[]")
	step(protocol.Wanted{Shard: 0}, "[]")
	step(protocol.Wanted{Shard: 1}, "[]")
	step(protocol.Receive{From: 2, Msg: protocol.Ended{Shards: []protocol.ShardID{0}}}, "[]") // not its affair
	step(protocol.Receive{From: 1, Msg: protocol.Ended{Shards: []protocol.ShardID{0, 2}}}, "[drop 0: ended]")
	step(protocol.Install{View: proxied(2)}, "[drop 1: ended]")
	step(protocol.Wanted{Shard: 3}, "[drop 3: ended]")
	if !r.Deadline().IsZero() {
		t.Error("it asks on")
	}
}

// TestQuestionsThatAreOver: a region asks for a home only after the answer to its earlier question.
// It does not ask if the shard is here meanwhile, or has a home. The question would reach the
// coordinator when the shard must be stopped for good, and give it another home.
func TestQuestionsThatAreOver(t *testing.T) {
	r := newRegion(t, 2)
	now, tok := time.Unix(0, 0), protocol.Token{Epoch: 1, Up: 1, Seq: 1}
	for _, in := range []protocol.RegionInput{
		protocol.LeaseChanged{Held: true}, protocol.Install{View: viewOf(1, 1, 2)},
		protocol.Receive{From: 1, Msg: protocol.Registered{Floor: tok, Since: tok}}, protocol.Wanted{Shard: 0},
		protocol.Wanted{Shard: 1}, protocol.Wanted{Shard: 2}, protocol.Wanted{Shard: 3},
		protocol.Receive{From: 1, Msg: protocol.HostShards{Shards: []protocol.ShardToken{{Shard: 1,
			Token: protocol.Token{Epoch: 1, Up: 1, Seq: 2}}}}}, protocol.TableChanged{
			Entries: []protocol.Entry{{Shard: 3, Home: 1, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 3}}},
		},
	} {
		r.Step(now, in)
	}
	if got := fmt.Sprint(r.Step(now.Add(askDelay), protocol.Tick{}).Send); got != "[→1 get-homes 2]" {
		t.Error(got)
	}
}
