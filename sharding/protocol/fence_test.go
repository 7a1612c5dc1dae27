package protocol

import (
	"strings"
	"testing"
	"time"
)

// TestEarlyAndLateFences: a fence that comes before its Begin counts when that comes, and only for
// that. One whose hand-off is over, or was begun by a deposed coordinator, or that a stranger
// sends, is counted and not kept: nothing would ever take it away again.
func TestEarlyAndLateFences(t *testing.T) {
	r, err := NewRegion(Config{Type: "t", Self: 1, Shards: 4}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	step := func(in RegionInput) string {
		t.Helper()
		s := r.Step(time.Unix(0, 0), in).String()
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	receive := func(from UID, m Message) string { return step(Receive{From: from, Msg: m}) }
	tok := func(seq uint64) Token { return Token{Epoch: 1, Up: 2, Seq: seq} }
	step(Lease{Held: true})
	step(Install{View: viewOf(1, 1, 2, 3, 4)})
	receive(2, Registered{Floor: tok(3)})

	begin := func(id uint64, owner UID) string {
		return receive(2, Begin{Moves: []Move{{Shard: 0, HandOff: tok(id), Owner: owner}}, Regions: []UID{1, 2, 3}})
	}
	late := func(why string, from UID, id Token, as counted) {
		t.Helper()
		was := r.counts[as]
		receive(from, Fence{Shard: 0, HandOff: id})
		if len(r.early) > 0 || r.counts[as] != was+1 {
			t.Errorf("the fence %s: kept %v, counted %d", why, r.early, r.counts[as]-was)
		}
		clear(r.early)
	}
	begin(5, 4)
	late("of the hand-off of another owner", 3, tok(5), countLate)
	late("of one of a deposed coordinator", 3, Token{Epoch: 1, Up: 1, Seq: 99}, countLate)
	receive(2, HostShards{Shards: []ShardToken{{0, tok(8)}}})
	step(ShardStarted{Shard: 0})
	late("of one that this node missed, and that is over", 3, tok(7), countLate)
	late("of a stranger", 9, tok(10), countOtherRole)

	receive(3, Fence{Shard: 0, HandOff: tok(10)}) // of one that never begins here
	receive(3, Fence{Shard: 0, HandOff: tok(11)})
	receive(3, Fence{Shard: 0, HandOff: tok(9)}) // the two have overtaken it
	if got := begin(11, 1); strings.Contains(got, "drain-shard") {
		t.Fatalf("it does not wait for node 2:\n%s", got)
	}
	if got := receive(2, Fence{Shard: 0, HandOff: tok(11)}); !strings.Contains(got, "drain-shard 0 "+tok(11).String()) {
		t.Errorf("the early fence of node 3 does not count:\n%s", got)
	}
	if len(r.early) > 0 {
		t.Errorf("early fences outlive their hand-off: %v", r.early)
	}
}

// TestFloorRefuses: a region that has answered a new coordinator obeys no command of the one
// before, even where nothing else tells that it is late.
func TestFloorRefuses(t *testing.T) {
	r, err := NewRegion(Config{Type: "t", Self: 1, Shards: 4}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	r.Step(now, Lease{Held: true})
	r.Step(now, Install{View: viewOf(1, 1, 2, 3)})
	r.Step(now, Receive{From: 2, Msg: HostShards{Shards: []ShardToken{{0, Token{1, 1, 5}}}}})
	r.Step(now, ShardStarted{Shard: 0})
	r.Step(now, Receive{From: 3, Msg: Inquire{Floor: Token{1, 2, 1}}})
	for _, m := range []Message{
		Begin{Moves: []Move{{Shard: 0, HandOff: Token{1, 1, 6}, Owner: 1}}, Regions: []UID{1, 2, 3}},
		HostShards{Shards: []ShardToken{{1, Token{1, 1, 7}}}},
		Inquire{Floor: Token{1, 1, 8}},
		Registered{Floor: Token{1, 1, 8}},
	} {
		was := r.counts[countStale]
		if got := r.Step(now, Receive{From: 2, Msg: m}).String(); got != "" || r.counts[countStale] != was+1 {
			t.Errorf("%v is obeyed:\n%s", m, got)
		}
	}
}

// fencing returns a region of view 1 that hosts shard 0, and a door to it.
func fencing(t *testing.T) (r *Region, step func(in RegionInput) string) {
	t.Helper()
	r, err := NewRegion(Config{Type: "t", Self: 1, Shards: 4}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	step = func(in RegionInput) string {
		t.Helper()
		s := r.Step(time.Unix(0, 0), in).String()
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		return s
	}
	step(Lease{Held: true})
	step(Install{View: viewOf(1, 1, 2, 3)})
	step(Receive{From: 2, Msg: Registered{Floor: Token{1, 2, 3}}})
	step(Receive{From: 2, Msg: HostShards{Shards: []ShardToken{{0, Token{1, 2, 8}}}}})
	step(ShardStarted{Shard: 0})
	return r, step
}

// TestFencesOfNewcomers: the owner awaits, and takes early, the fence of a region that only the
// view of the hand-off has. Views before that one change nothing. The view of the hand-off, or a
// later one, ends the wait for a region that is gone.
func TestFencesOfNewcomers(t *testing.T) {
	id := Token{3, 2, 9}
	begin := Receive{From: 2, Msg: Begin{Moves: []Move{{Shard: 0, HandOff: id, Owner: 1}}, Regions: []UID{1, 4}}}
	fence := Receive{From: 4, Msg: Fence{Shard: 0, HandOff: id}}
	older, without, with := Install{View: viewOf(2, 1, 2, 3)}, Install{View: viewOf(3, 1, 2, 3)}, Install{View: viewOf(3, 1, 2, 3, 4)}
	for name, ins := range map[string][]RegionInput{
		"before the view":          {begin, fence},
		"after an older view":      {begin, older, fence},
		"after the view":           {begin, older, with, fence},
		"early":                    {fence, begin},
		"early, and then the view": {fence, older, with, begin},
		"never":                    {begin, older, without},
		"never, view first":        {older, without, begin},
	} {
		t.Run(name, func(t *testing.T) {
			_, step := fencing(t)
			for i, in := range ins {
				drains := strings.Contains(step(in), "drain-shard 0 "+id.String())
				if last := i == len(ins)-1; drains != last {
					t.Fatalf("after input %d of %d, %T: drains is %t", i+1, len(ins), in, drains)
				}
			}
		})
	}
}

// TestEarlyFenceOfAnotherHandOff: a fence counts for its hand-off alone. One of a hand-off that
// never began here says nothing about what its sender has sent since.
func TestEarlyFenceOfAnotherHandOff(t *testing.T) {
	_, step := fencing(t)
	step(Receive{From: 3, Msg: Fence{Shard: 0, HandOff: Token{1, 2, 10}}})
	id := Token{1, 2, 11}
	got := step(Receive{From: 2, Msg: Begin{Moves: []Move{{Shard: 0, HandOff: id, Owner: 1}}, Regions: []UID{1, 3}}})
	if strings.Contains(got, "drain-shard") {
		t.Fatalf("the fence of an earlier hand-off counts:\n%s", got)
	}
	if got := step(Receive{From: 3, Msg: Fence{Shard: 0, HandOff: id}}); !strings.Contains(got, "drain-shard 0 "+id.String()) {
		t.Errorf("its own fence does not count:\n%s", got)
	}
}

// TestEntryBelowTheHandOff: a late entry of the table from before the hand-off names no next home.
// The shard stays stopped, so that its end is reported until the coordinator has answered with an
// entry above the hand-off.
func TestEntryBelowTheHandOff(t *testing.T) {
	r, step := fencing(t)
	id := Token{1, 2, 11}
	step(Receive{From: 2, Msg: Begin{Moves: []Move{{Shard: 0, HandOff: id, Owner: 1}}, Regions: []UID{1}}})
	step(ShardDrained{Shard: 0, HandOff: id})
	step(ShardStopped{Shard: 0, HandOff: id})
	entry := func(seq uint64) string {
		return step(TableChanged{Entries: []Entry{{Shard: 0, Home: 3, Token: Token{1, 2, seq}}}})
	}
	entry(10)
	if p := r.shards[0].phase; p != PhaseStopped {
		t.Errorf("an entry from before the hand-off releases the shard: it is %v", p)
	}
	if got := r.Step(time.Unix(60, 0), Tick{}).String(); !strings.Contains(got, "stopped 0@"+id.String()) {
		t.Errorf("the end is not reported again:\n%s", got)
	}
	if got := entry(12); !strings.Contains(got, "route 0 remote 3@1.2.12") || r.shards[0].phase != PhaseNone {
		t.Errorf("an entry above the hand-off does not release the shard:\n%s", got)
	}
}

// TestLostFenceIsAskedFor: a fence that was lost, wherever and why, is asked for when the Begin is
// repeated. Its sender has answered the coordinator, which therefore does not ask it again.
func TestLostFenceIsAskedFor(t *testing.T) {
	id := Token{1, 2, 11}
	begin := Receive{From: 2, Msg: Begin{Moves: []Move{{Shard: 0, HandOff: id, Owner: 1}}, Regions: []UID{1, 2, 3}}}
	_, step := fencing(t)
	if got := step(begin); strings.Contains(got, "→3 begin") {
		t.Errorf("asked at once:\n%s", got)
	}
	step(Receive{From: 2, Msg: Fence{Shard: 0, HandOff: id}})
	if got := step(begin); !strings.Contains(got, "→3 begin 0@1.2.11:1") || strings.Contains(got, "→2 begin ") {
		t.Errorf("node 3 and it alone is to be asked:\n%s", got)
	}
	step(Receive{From: 3, Msg: Fence{Shard: 0, HandOff: id}})
	if got := step(begin); strings.Contains(got, "→3 begin") {
		t.Errorf("asked for what has come:\n%s", got)
	}

	asked, err := NewRegion(Config{Type: "t", Self: 3, Shards: 4}, newRand())
	if err != nil {
		t.Fatal(err)
	}
	asked.Step(time.Unix(0, 0), Install{View: viewOf(1, 1, 2, 3)})
	asked.Step(time.Unix(0, 0), begin)
	again := Receive{From: 1, Msg: Begin{Moves: []Move{{Shard: 0, HandOff: id, Owner: 1}}}}
	if got := asked.Step(time.Unix(0, 0), again).String(); !strings.Contains(got, "fence →1 0 1.2.11") {
		t.Errorf("node 3 does not fence again:\n%s", got)
	}
}
