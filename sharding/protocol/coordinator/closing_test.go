package coordinator

import (
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestClosingCoordinator: while the cluster shuts down, a shard that never had a home still gets
// one for a message. A shard that had a home gets no other one, whether its home left, died, or
// said so before the coordinator knew. Nothing that is remembered starts.
func TestClosingCoordinator(t *testing.T) {
	l := acting(t, protocol.Config{Identity: protocol.Identity{Shards: 8}},
		map[protocol.UID][]protocol.ShardID{1: {0, 1}, 2: {2}, 3: {3, 4}}, 1, 2, 3)
	// it has heard of it before the coordinator
	l.step(protocol.Receive{From: 2, Msg: protocol.LeaveRequest{Left: true, Closing: true}})
	l.step(protocol.Install{View: closing(viewOf(2, 1, 2, 3))})
	l.expect(l.step(protocol.Receive{From: 3, Msg: protocol.LeaveRequest{}}), "alone")
	l.step(protocol.Install{View: closing(viewOf(3, 1, 2))}) // 3 has died
	if got := l.step(protocol.RememberedChanged{Shards: []protocol.ShardID{2, 5}}); strings.Contains(got, "write") {
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
		if got := l.c.term.homes.shards[s].state; got != want {
			t.Errorf("shard %d is %s, want %s", s, shardStepNames[got], shardStepNames[want])
		}
	}
}
