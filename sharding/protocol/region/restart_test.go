package region

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestHandOffTakenBackWhileTheShardStops: the shard may have stopped already, and need its lease
// again. Until it says that it has started, it starts: messages wait in the buffer, and a hand-off
// that comes while it waits for the lease goes on at once.
func TestHandOffTakenBackWhileTheShardStops(t *testing.T) {
	r := newRegion(t, 1)
	step := stepOf(t, r)
	tok := func(seq uint64) protocol.Token { return protocol.Token{Epoch: 1, Up: 2, Seq: seq} }
	host := func(seq uint64) string {
		return step(protocol.Receive{From: 2, Msg: protocol.HostShards{
			Shards: []protocol.ShardToken{{Shard: 0, Token: tok(seq)}},
		}})
	}
	begin := func(seq uint64) string {
		return step(protocol.Receive{From: 2, Msg: protocol.Begin{
			Moves: []protocol.Move{{Shard: 0, HandOff: tok(seq), Owner: 1}}, Regions: []protocol.UID{1},
		}})
	}
	expect := func(what, got, want string) {
		t.Helper()
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q is missing in:\n%s", what, want, got)
		}
	}
	step(protocol.LeaseChanged{Held: true})
	step(protocol.Install{View: viewOf(1, 1, 2)})
	step(protocol.Receive{From: 2, Msg: protocol.Registered{Floor: tok(3)}})
	host(4)
	step(protocol.ShardStarted{Shard: 0})
	expect("all fences are in", begin(5), "drain-shard 0")
	expect("the mailboxes are empty", step(protocol.ShardDrained{Shard: 0, HandOff: tok(5)}), "stop-shard 0")

	got := host(6)
	expect("taken back", got, "resume-shard 0")
	expect("taken back", got, "route 0 starting")
	expect("it goes on", step(protocol.ShardStarted{Shard: 0}), "route 0 local")

	begin(7)
	step(protocol.ShardDrained{Shard: 0, HandOff: tok(7)})
	host(8)
	step(protocol.Wanted{Shard: 0})
	step(protocol.ShardWaits{Shard: 0})
	expect("it waits for its lease", begin(9), "stop-shard 0 "+tok(9).String())
	expect("it was not started", step(protocol.ShardStopped{Shard: 0, HandOff: tok(9)}), "close-shard 0")
}
