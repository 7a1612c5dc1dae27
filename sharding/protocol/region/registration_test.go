package region

import (
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestOutrankedRegionEndsWhatItHosts: its entities would live twice.
func TestOutrankedRegionEndsWhatItHosts(t *testing.T) {
	_, step := fencing(t)
	refused := protocol.Refused{Compatibility: protocol.Compatibility{Role: "q", Shards: 4, ShardOf: "xxhash"}}
	if got := step(protocol.Receive{From: 3, Msg: refused}); got != "" {
		t.Errorf("the word of a node that is no coordinator counts:\n%s", got)
	}
	coordinator := protocol.Receive{From: 1, Msg: refused} // of a region of role "", the oldest member
	if got := step(coordinator); !strings.Contains(got, "kill-shard 0") ||
		!strings.Contains(got, "Role is none here and q with the coordinator") {
		t.Errorf("it goes on:\n%s", got)
	}
	if got := step(protocol.Receive{From: 2, Msg: protocol.Compare{}}); !strings.Contains(got,
		`→2 compared role="" coordinator=1 joined`) {
		t.Errorf("it answers:\n%s", got)
	}
}

// What the coordinator says of its state counts until it gives homes, another one comes, or questions
// are not answered with it any more.
func TestStateFailing(t *testing.T) {
	r := newRegion(t, 2)
	now := time.Unix(0, 0)
	step := func(in protocol.RegionInput) { r.Step(now, in) }
	from := func(u protocol.UID, m protocol.Message) { step(protocol.Receive{From: u, Msg: m}) }
	want := func(when, why string) {
		t.Helper()
		if _, _, got := r.Coordinator(); got != why {
			t.Errorf("%s: %q, want %q", when, got, why)
		}
	}
	retry := func() { now = r.Deadline(); step(protocol.Tick{}) }
	full := protocol.StateFailing{Why: "full"}
	step(protocol.LeaseChanged{Held: true})
	step(protocol.Install{View: viewOf(1, 1, 2, 3)})
	from(3, full)
	want("said by a node that does not coordinate", "")
	from(1, full)
	want("said", "full")
	for range failingRetries - 1 {
		retry()
	}
	want("not answered for a while", "full")
	from(1, full)
	retry()
	want("answered again", "full")
	for range failingRetries {
		retry()
	}
	want("not answered any more", "")

	floor := protocol.Token{Epoch: 1, Up: 1, Seq: 1}
	from(1, full)
	from(1, protocol.Registered{Floor: floor, Since: floor})
	want("registered", "")
	from(1, full)
	want("nothing waits for it", "")
	step(protocol.Wanted{Shard: 0})
	from(1, full)
	want("a shard waits for its home", "full")
	from(1, protocol.Homes{Sure: true, Entries: []protocol.Entry{
		{Shard: 0, Home: 3, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 2}},
	}})
	want("there is a home", "")
	step(protocol.Wanted{Shard: 1})
	from(1, full)
	step(protocol.Install{View: viewOf(2, 2, 3)})
	want("another coordinator", "")
}

// TestRegionOutOfRange: what names a shard that does not exist is counted.
func TestRegionOutOfRange(t *testing.T) {
	r := newRegion(t, 1)
	tok := protocol.Token{Epoch: 1, Up: 1, Seq: 9}
	for _, in := range []protocol.RegionInput{
		protocol.LeaseChanged{Held: true}, protocol.Wanted{Shard: 4},
		protocol.TableChanged{Entries: []protocol.Entry{{Shard: 4, Home: 1, Token: tok}}},
		protocol.ShardStarted{Shard: 4}, protocol.ShardStopped{Shard: 4},
		protocol.Receive{From: 1, Msg: protocol.HostShards{Shards: []protocol.ShardToken{{Shard: 4, Token: tok}}}},
		protocol.Receive{From: 1, Msg: protocol.Begin{Moves: []protocol.Move{{Shard: 4, HandOff: tok, Owner: 1}}}},
		protocol.Receive{From: 1, Msg: protocol.Fence{Shard: 4, HandOff: tok}}, protocol.Receive{
			From: 1, Msg: protocol.GetHomes{Region: true, Shards: []protocol.ShardID{4}},
		},
		protocol.Misrouted{From: 2, Shard: 4}, protocol.ShardDrained{Shard: 4},
	} {
		if s := r.Step(time.Unix(0, 0), in).String(); s != "" {
			t.Errorf("%T%+v: %s", in, in, s)
		}
	}
	if r.counts[protocol.CountOutOfRange] != 10 {
		t.Errorf("counted %d", r.counts[protocol.CountOutOfRange])
	}
}

// TestAShardOpensWithTheViewOfItsHome: a home that was chosen in a view that this node does not have
// yet starts the shard, and takes messages when the view is here: those that the last home lost with
// its node go first.
func TestAShardOpensWithTheViewOfItsHome(t *testing.T) {
	r := newRegion(t, 1)
	step := stepOf(t, r)
	step(protocol.LeaseChanged{Held: true})
	step(protocol.Install{View: viewOf(1, 1, 2)})
	step(protocol.Receive{From: 2, Msg: protocol.Registered{Floor: protocol.Token{Epoch: 1, Up: 2, Seq: 3}}})
	got := step(protocol.Receive{From: 2, Msg: protocol.HostShards{
		Shards: []protocol.ShardToken{{Shard: 0, Token: protocol.Token{Epoch: 2, Up: 2, Seq: 1}}},
	}})
	if !strings.Contains(got, "start-shard 0") {
		t.Fatalf("it does not start:\n%s", got)
	}
	if got := step(protocol.ShardStarted{Shard: 0}); strings.Contains(got, "route 0 local") {
		t.Errorf("it takes messages before the view is here:\n%s", got)
	}
	if got := step(protocol.Install{View: viewOf(2, 1, 2)}); !strings.Contains(got, "route 0 local") {
		t.Errorf("it takes no messages when the view is here:\n%s", got)
	}
}
