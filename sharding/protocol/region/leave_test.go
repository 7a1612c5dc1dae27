package region

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// leaver is a region of node 2, whose coordinator is node 1.
func leaver(t *testing.T) func(in protocol.RegionInput) *protocol.RegionEffects {
	t.Helper()
	r := newRegion(t, 2)
	step := func(in protocol.RegionInput) *protocol.RegionEffects {
		t.Helper()
		fx := r.Step(time.Unix(0, 0), in)
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		return fx
	}
	step(protocol.LeaseChanged{Held: true})
	step(protocol.Install{View: viewOf(1, 1, 2, 3)})
	return step
}

// TestUnregisteredLeavesAtOnce: a region on which no coordinator counts leaves without asking, even
// if a registration is under way. It does not confirm that, so it is never given a shard.
func TestUnregisteredLeavesAtOnce(t *testing.T) {
	step := leaver(t)
	if fx := step(protocol.Leave{}); !fx.Left {
		t.Fatalf("it has not left:\n%v", fx)
	}
	tok := protocol.Token{Epoch: 1, Up: 1, Seq: 1}
	got := step(protocol.Receive{From: 1, Msg: protocol.Registered{Floor: tok, Since: tok}}).String()
	if strings.Contains(got, "confirm") || !strings.Contains(got, "→1 leave-request left") {
		t.Errorf("the late registration:\n%s", got)
	}
	if got := step(protocol.Install{View: viewOf(2, 2, 3)}).String(); strings.Contains(got, "register") {
		t.Errorf("it registers after it has left:\n%s", got)
	}
}

// TestUnregisteredLeavesWithMessages: what waits in a region that was not registered yet is given a
// home before the region leaves. If no coordinator registers it, because the type is absent there
// or its settings are refused, it is dropped.
func TestUnregisteredLeavesWithMessages(t *testing.T) {
	refused := protocol.Refused{Compatibility: protocol.Compatibility{Shards: 5, ShardOf: "xxhash"}}
	for name, answer := range map[string]protocol.Message{"absent": protocol.Absent{}, "refused": refused} {
		for _, when := range []string{"before", "after"} {
			step := leaver(t)
			step(protocol.Wanted{Shard: 1})
			ins := []protocol.RegionInput{protocol.Leave{}, protocol.Receive{From: 1, Msg: answer}}
			if when == "after" {
				ins[0], ins[1] = ins[1], ins[0]
			}
			if fx := step(ins[0]); fx.Left {
				t.Errorf("%s: it has left although a message waits:\n%v", name, fx)
			}
			if fx := step(ins[1]); !fx.Left || !strings.Contains(fx.String(), "drop 1: stopped") {
				t.Errorf("%s, Leave %s:\n%v", name, when, fx)
			}
			if fx := step(protocol.Wanted{Shard: 2}); !strings.Contains(fx.String(), "drop 2: stopped") {
				t.Errorf("%s: told after it has left:\n%v", name, fx)
			}
		}
	}
	step := leaver(t)
	step(protocol.Wanted{Shard: 1})
	step(protocol.Leave{})
	tok := protocol.Token{Epoch: 1, Up: 1, Seq: 1}
	if got := step(protocol.Receive{From: 1,
		Msg: protocol.Registered{Floor: tok, Since: tok}}).String(); !strings.Contains(got, "→1 get-homes 1") {
		t.Errorf("it does not ask for a home:\n%s", got)
	}
}

// TestCountedAsksBeforeItLeaves: a region that has confirmed its registration, or reported to a
// takeover, may have been given shards. It waits for the word of the coordinator that was the last
// to count on it.
func TestCountedAsksBeforeItLeaves(t *testing.T) {
	old, tok := protocol.Token{Epoch: 1, Up: 1, Seq: 1}, protocol.Token{Epoch: 2, Up: 3, Seq: 1}
	for name, m := range map[string]protocol.Message{
		"confirmed": protocol.Registered{Floor: tok, Since: tok}, "reported": protocol.Inquire{Floor: tok},
	} {
		step := leaver(t)
		step(protocol.Receive{From: 3, Msg: m})
		for _, in := range []protocol.RegionInput{
			protocol.Leave{}, protocol.Receive{From: 1, Msg: protocol.LeaveReply{Done: true, Floor: old}},
		} {
			if fx := step(in); fx.Left {
				t.Errorf("%s: %v: it has left", name, in)
			}
		}
		if fx := step(protocol.Receive{From: 3, Msg: protocol.LeaveReply{Done: true, Floor: tok}}); !fx.Left {
			t.Errorf("%s: it has not left", name)
		}
	}
}

func viewOf(e view.Epoch, members ...protocol.UID) *view.View {
	v := &view.View{Epoch: e}
	for _, u := range members {
		v.Members = append(v.Members, view.Member{UID: u, Status: view.Up, UpNumber: uint32(u)})
	}
	service := protocol.Identity{Name: "t"}.Service()
	v.Enlist(func(view.UID) []view.Service { return []view.Service{service} })
	return v
}

// newRegion returns the region of a node, of a type with four shards.
func newRegion(t *testing.T, self protocol.UID) *Region {
	t.Helper()
	r, err := New(protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 4}, Self: self}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// stepOf returns the Step of a region at the start of time. It prints the effects, and checks the
// region.
func stepOf(t *testing.T, r *Region) func(in protocol.RegionInput) string {
	return func(in protocol.RegionInput) string {
		t.Helper()
		s := r.Step(time.Unix(0, 0), in).String()
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		return s
	}
}

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

func closing(v *view.View) *view.View {
	v.Closing = true
	return v
}
