package region

import (
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestEarlyAndLateFences: a fence that comes before its Begin counts when that comes, and only for
// that. One whose hand-off is over, or was begun by a deposed coordinator, or that a stranger
// sends, is counted and not kept: nothing would ever take it away again.
func TestEarlyAndLateFences(t *testing.T) {
	r := newRegion(t, 1)
	step := stepOf(t, r)
	receive := func(from protocol.UID, m protocol.Message) string { return step(protocol.Receive{From: from, Msg: m}) }
	tok := func(seq uint64) protocol.Token { return protocol.Token{Epoch: 1, Up: 2, Seq: seq} }
	step(protocol.LeaseChanged{Held: true})
	step(protocol.Install{View: viewOf(1, 1, 2, 3, 4)})
	receive(2, protocol.Registered{Floor: tok(3)})

	begin := func(id uint64, owner protocol.UID) string {
		return receive(2, protocol.Begin{
			Moves: []protocol.Move{{Shard: 0, HandOff: tok(id), Owner: owner}}, Regions: []protocol.UID{1, 2, 3},
		})
	}
	late := func(why string, from protocol.UID, id protocol.Token, as protocol.Counted) {
		t.Helper()
		was := r.counts[as]
		receive(from, protocol.Fence{Shard: 0, HandOff: id})
		if len(r.places.early) > 0 || r.counts[as] != was+1 {
			t.Errorf("the fence %s: kept %v, counted %d", why, r.places.early, r.counts[as]-was)
		}
		clear(r.places.early)
	}
	begin(5, 4)
	late("of the hand-off of another owner", 3, tok(5), protocol.CountLate)
	late("of one of a deposed coordinator", 3, protocol.Token{Epoch: 1, Up: 1, Seq: 99}, protocol.CountLate)
	receive(2, protocol.HostShards{Shards: []protocol.ShardToken{{Shard: 0, Token: tok(8)}}})
	step(protocol.ShardStarted{Shard: 0})
	late("of one that this node missed, and that is over", 3, tok(7), protocol.CountLate)
	late("of a stranger", 9, tok(10), protocol.CountOtherRole)

	receive(3, protocol.Fence{Shard: 0, HandOff: tok(10)}) // of one that never begins here
	receive(3, protocol.Fence{Shard: 0, HandOff: tok(11)})
	receive(3, protocol.Fence{Shard: 0, HandOff: tok(9)}) // the two have overtaken it
	if got := begin(11, 1); strings.Contains(got, "drain-shard") {
		t.Fatalf("it does not wait for node 2:\n%s", got)
	}
	if got := receive(2, protocol.Fence{Shard: 0, HandOff: tok(11)}); !strings.Contains(got,
		"drain-shard 0 "+tok(11).String()) {
		t.Errorf("the early fence of node 3 does not count:\n%s", got)
	}
	if len(r.places.early) > 0 {
		t.Errorf("early fences outlive their hand-off: %v", r.places.early)
	}
}

// TestFloorRefuses: a region that has answered a new coordinator obeys no command of the one
// before, even where nothing else tells that it is late.
func TestFloorRefuses(t *testing.T) {
	r := newRegion(t, 1)
	now := time.Unix(0, 0)
	r.Step(now, protocol.LeaseChanged{Held: true})
	r.Step(now, protocol.Install{View: viewOf(1, 1, 2, 3)})
	r.Step(now, protocol.Receive{
		From: 2, Msg: protocol.HostShards{
			Shards: []protocol.ShardToken{{Shard: 0, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 5}}},
		},
	})
	r.Step(now, protocol.ShardStarted{Shard: 0})
	r.Step(now, protocol.Receive{From: 3, Msg: protocol.Inquire{Floor: protocol.Token{Epoch: 1, Up: 2, Seq: 1}}})
	for _, m := range []protocol.Message{
		protocol.Begin{
			Moves:   []protocol.Move{{Shard: 0, HandOff: protocol.Token{Epoch: 1, Up: 1, Seq: 6}, Owner: 1}},
			Regions: []protocol.UID{1, 2, 3},
		},
		protocol.HostShards{Shards: []protocol.ShardToken{{Shard: 1, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 7}}}},
		protocol.Inquire{Floor: protocol.Token{Epoch: 1, Up: 1, Seq: 8}},
		protocol.Registered{Floor: protocol.Token{Epoch: 1, Up: 1, Seq: 8}},
	} {
		was := r.counts[protocol.CountStale]
		if got := r.Step(now, protocol.Receive{From: 2, Msg: m}).String(); got != "" ||
			r.counts[protocol.CountStale] != was+1 {
			t.Errorf("%v is obeyed:\n%s", m, got)
		}
	}
}

// What a node has promised a coordinator before a type was started there binds its region; a region
// that forgets it obeys a deposed coordinator.
func TestAPromiseOutlivesItsRegion(t *testing.T) {
	var before protocol.NotStarted
	if before.Answer(protocol.Inquire{Floor: protocol.Token{Epoch: 1, Up: 2, Seq: 1}}) == nil {
		t.Fatal("no answer")
	}
	for _, forgets := range []bool{false, true} {
		cfg := protocol.Config{
			Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 1, Predecessor: before.Predecessor,
		}
		if forgets {
			cfg.Plant(defect.Of(defect.Unpromised))
		}
		r, err := New(cfg, newRand())
		if err != nil {
			t.Fatal(err)
		}
		now := time.Unix(0, 0)
		r.Step(now, protocol.LeaseChanged{Held: true})
		r.Step(now, protocol.Install{View: viewOf(1, 1, 2, 3)})
		fx := r.Step(now, protocol.Receive{From: 2, Msg: protocol.HostShards{
			Shards: []protocol.ShardToken{{Shard: 0, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 5}}},
		}}).String()
		if obeyed := strings.Contains(fx, "start-shard"); obeyed != forgets {
			t.Errorf("forgets %t: a command from below the floor has the effects\n%s", forgets, fx)
		}
	}
}

// fencing returns a region of view 1 that hosts shard 0, and a door to it.
func fencing(t *testing.T) (r *Region, step func(in protocol.RegionInput) string) {
	t.Helper()
	r = newRegion(t, 1)
	step = stepOf(t, r)
	step(protocol.LeaseChanged{Held: true})
	step(protocol.Install{View: viewOf(1, 1, 2, 3)})
	step(protocol.Receive{From: 2, Msg: protocol.Registered{Floor: protocol.Token{Epoch: 1, Up: 2, Seq: 3}}})
	step(protocol.Receive{
		From: 2, Msg: protocol.HostShards{
			Shards: []protocol.ShardToken{{Shard: 0, Token: protocol.Token{Epoch: 1, Up: 2, Seq: 8}}},
		},
	})
	step(protocol.ShardStarted{Shard: 0})
	return r, step
}

// TestFencesOfNewcomers: the owner awaits, and takes early, the fence of a region that only the
// view of the hand-off has. Views before that one change nothing. The view of the hand-off, or a
// later one, ends the wait for a region that is gone.
func TestFencesOfNewcomers(t *testing.T) {
	id := protocol.Token{Epoch: 3, Up: 2, Seq: 9}
	begin := protocol.Receive{
		From: 2, Msg: protocol.Begin{
			Moves: []protocol.Move{{Shard: 0, HandOff: id, Owner: 1}}, Regions: []protocol.UID{1, 4},
		},
	}
	fence := protocol.Receive{From: 4, Msg: protocol.Fence{Shard: 0, HandOff: id}}
	older, without, with := protocol.Install{View: viewOf(2, 1, 2, 3)}, protocol.Install{View: viewOf(3, 1, 2, 3)},
		protocol.Install{View: viewOf(3, 1, 2, 3, 4)}
	for name, ins := range map[string][]protocol.RegionInput{
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
	step(protocol.Receive{From: 3, Msg: protocol.Fence{Shard: 0, HandOff: protocol.Token{Epoch: 1, Up: 2, Seq: 10}}})
	id := protocol.Token{Epoch: 1, Up: 2, Seq: 11}
	got := step(protocol.Receive{
		From: 2, Msg: protocol.Begin{
			Moves: []protocol.Move{{Shard: 0, HandOff: id, Owner: 1}}, Regions: []protocol.UID{1, 3},
		},
	})
	if strings.Contains(got, "drain-shard") {
		t.Fatalf("the fence of an earlier hand-off counts:\n%s", got)
	}
	if got := step(protocol.Receive{From: 3, Msg: protocol.Fence{Shard: 0, HandOff: id}}); !strings.Contains(got,
		"drain-shard 0 "+id.String()) {
		t.Errorf("its own fence does not count:\n%s", got)
	}
}

// TestEntryBelowTheHandOff: a late entry of the table from before the hand-off names no next home.
// The shard stays stopped, so that its end is reported until the coordinator has answered with an
// entry above the hand-off.
func TestEntryBelowTheHandOff(t *testing.T) {
	r, step := fencing(t)
	id := protocol.Token{Epoch: 1, Up: 2, Seq: 11}
	step(protocol.Receive{
		From: 2, Msg: protocol.Begin{
			Moves: []protocol.Move{{Shard: 0, HandOff: id, Owner: 1}}, Regions: []protocol.UID{1},
		},
	})
	step(protocol.ShardDrained{Shard: 0, HandOff: id})
	step(protocol.ShardStopped{Shard: 0, HandOff: id})
	entry := func(seq uint64) string {
		return step(protocol.TableChanged{
			Entries: []protocol.Entry{{Shard: 0, Home: 3, Token: protocol.Token{Epoch: 1, Up: 2, Seq: seq}}},
		})
	}
	entry(10)
	if p := r.places.peek(0).phase; p != protocol.PhaseStopped {
		t.Errorf("an entry from before the hand-off releases the shard: it is %v", p)
	}
	if got := r.Step(time.Unix(60, 0), protocol.Tick{}).String(); !strings.Contains(got, "stopped 0@"+id.String()) {
		t.Errorf("the end is not reported again:\n%s", got)
	}
	if got := entry(12); !strings.Contains(got, "route 0 remote 3@1.2.12") ||
		r.places.peek(0).phase != protocol.PhaseNone {
		t.Errorf("an entry above the hand-off does not release the shard:\n%s", got)
	}
}

// TestLostFenceIsAskedFor: a fence that was lost, wherever and why, is asked for when the Begin is
// repeated. Its sender has answered the coordinator, which therefore does not ask it again.
func TestLostFenceIsAskedFor(t *testing.T) {
	id := protocol.Token{Epoch: 1, Up: 2, Seq: 11}
	begin := protocol.Receive{
		From: 2, Msg: protocol.Begin{
			Moves: []protocol.Move{{Shard: 0, HandOff: id, Owner: 1}}, Regions: []protocol.UID{1, 2, 3},
		},
	}
	_, step := fencing(t)
	if got := step(begin); strings.Contains(got, "→3 begin") {
		t.Errorf("asked at once:\n%s", got)
	}
	step(protocol.Receive{From: 2, Msg: protocol.Fence{Shard: 0, HandOff: id}})
	if got := step(begin); !strings.Contains(got, "→3 begin 0@1.2.11:1") || strings.Contains(got, "→2 begin ") {
		t.Errorf("want only node 3 to be asked:\n%s", got)
	}
	step(protocol.Receive{From: 3, Msg: protocol.Fence{Shard: 0, HandOff: id}})
	if got := step(begin); strings.Contains(got, "→3 begin") {
		t.Errorf("asked for what has come:\n%s", got)
	}

	asked := newRegion(t, 3)
	asked.Step(time.Unix(0, 0), protocol.Install{View: viewOf(1, 1, 2, 3)})
	asked.Step(time.Unix(0, 0), begin)
	again := protocol.Receive{From: 1, Msg: protocol.Begin{Moves: []protocol.Move{{Shard: 0, HandOff: id, Owner: 1}}}}
	if got := asked.Step(time.Unix(0, 0), again).String(); !strings.Contains(got, "fence →1 0 1.2.11") {
		t.Errorf("node 3 does not fence again:\n%s", got)
	}
}

// TestANewerHandOffResumes: a shard that is about to leave for one hand-off is open again for the
// next one, which may have other regions to wait for. What it says of the first is late.
func TestANewerHandOffResumes(t *testing.T) {
	_, step := fencing(t)
	tok := func(seq uint64) protocol.Token { return protocol.Token{Epoch: 1, Up: 2, Seq: seq} }
	begin := func(seq uint64, regions ...protocol.UID) string {
		return step(protocol.Receive{From: 2, Msg: protocol.Begin{
			Moves: []protocol.Move{{Shard: 0, HandOff: tok(seq), Owner: 1}}, Regions: regions,
		}})
	}
	if got := begin(9, 1); !strings.Contains(got, "drain-shard 0 "+tok(9).String()) {
		t.Fatalf("it does not drain:\n%s", got)
	}
	got := begin(10, 1)
	resume, drain := strings.Index(got, "resume-shard 0"), strings.Index(got, "drain-shard 0 "+tok(10).String())
	if resume < 0 || drain < resume {
		t.Errorf("it does not resume and drain for the newer hand-off:\n%s", got)
	}
	if got := step(protocol.ShardDrained{Shard: 0, HandOff: tok(9)}); strings.Contains(got, "stop-shard") {
		t.Errorf("what was drained before it resumed is stopped:\n%s", got)
	}
	if got := step(protocol.ShardDrained{Shard: 0, HandOff: tok(10)}); !strings.Contains(got,
		"stop-shard 0 "+tok(10).String()) {
		t.Errorf("what is drained is not stopped:\n%s", got)
	}
}
