package protocol

import (
	"strings"
	"testing"
	"time"
)

// leaver is a region of node 2, whose coordinator is node 1.
func leaver(t *testing.T) func(in RegionInput) *RegionEffects {
	t.Helper()
	r, err := NewRegion(Config{Type: "t", Self: 2, Shards: 4}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	step := func(in RegionInput) *RegionEffects {
		t.Helper()
		fx := r.Step(time.Unix(0, 0), in)
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		return fx
	}
	step(Lease{Held: true})
	step(Install{View: viewOf(1, 1, 2, 3)})
	return step
}

// TestUnregisteredLeavesAtOnce: a region on which no coordinator counts leaves without asking, even
// if a registration is under way. It does not confirm that, so it is never given a shard.
func TestUnregisteredLeavesAtOnce(t *testing.T) {
	step := leaver(t)
	if fx := step(Leave{}); !fx.Left {
		t.Fatalf("it has not left:\n%v", fx)
	}
	tok := Token{1, 1, 1}
	got := step(Receive{From: 1, Msg: Registered{Floor: tok, Since: tok}}).String()
	if strings.Contains(got, "confirm") || !strings.Contains(got, "→1 leave-request left") {
		t.Errorf("the late registration:\n%s", got)
	}
	if got := step(Install{View: viewOf(2, 2, 3)}).String(); strings.Contains(got, "register") {
		t.Errorf("it registers after it has left:\n%s", got)
	}
}

// TestUnregisteredLeavesWithMessages: what waits in a region that was not registered yet is given a
// home before the region leaves. If no coordinator registers it, because the type is absent there
// or its settings are refused, it is dropped.
func TestUnregisteredLeavesWithMessages(t *testing.T) {
	refused := Refused{Compatibility: Compatibility{Shards: 5}}
	for name, answer := range map[string]Message{"absent": Absent{}, "refused": refused} {
		for _, when := range []string{"before", "after"} {
			step := leaver(t)
			step(Wanted{Shard: 1})
			ins := []RegionInput{Leave{}, Receive{From: 1, Msg: answer}}
			if when == "after" {
				ins[0], ins[1] = ins[1], ins[0]
			}
			if fx := step(ins[0]); fx.Left {
				t.Errorf("%s: it has left although a message waits:\n%v", name, fx)
			}
			if fx := step(ins[1]); !fx.Left || !strings.Contains(fx.String(), "drop 1: stopped") {
				t.Errorf("%s, Leave %s:\n%v", name, when, fx)
			}
			if fx := step(Wanted{Shard: 2}); !strings.Contains(fx.String(), "drop 2: stopped") {
				t.Errorf("%s: told after it has left:\n%v", name, fx)
			}
		}
	}
	step := leaver(t)
	step(Wanted{Shard: 1})
	step(Leave{})
	tok := Token{1, 1, 1}
	if got := step(Receive{From: 1, Msg: Registered{Floor: tok, Since: tok}}).String(); !strings.Contains(got, "→1 get-homes 1") {
		t.Errorf("it does not ask for a home:\n%s", got)
	}
}

// TestCountedAsksBeforeItLeaves: a region that has confirmed its registration, or reported to a
// takeover, may have been given shards. It waits for the word of the coordinator that was the last
// to count on it.
func TestCountedAsksBeforeItLeaves(t *testing.T) {
	old, tok := Token{1, 1, 1}, Token{2, 3, 1}
	for name, m := range map[string]Message{"confirmed": Registered{Floor: tok, Since: tok}, "reported": Inquire{Floor: tok}} {
		step := leaver(t)
		step(Receive{From: 3, Msg: m})
		for _, in := range []RegionInput{Leave{}, Receive{From: 1, Msg: LeaveReply{Done: true, Floor: old}}} {
			if fx := step(in); fx.Left {
				t.Errorf("%s: %v: it has left", name, in)
			}
		}
		if fx := step(Receive{From: 3, Msg: LeaveReply{Done: true, Floor: tok}}); !fx.Left {
			t.Errorf("%s: it has not left", name)
		}
	}
}
