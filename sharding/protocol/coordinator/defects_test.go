package coordinator

import (
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// The defects of the reference's coordinator and shard that these must not have, by their numbers
// in its list. The table in package proptest names the tests of all.

// TestA1RememberedLate: the shards with remembered ids are read slowly, and come when the takeover
// is over or under way: all get a home.
func TestA1RememberedLate(t *testing.T) {
	for _, late := range []bool{false, true} {
		l := newLoneOf(t, protocol.Config{
			Identity: protocol.Identity{Name: "t", Shards: 4},
			Self:     1, Remember: protocol.Remember[protocol.StoreID]{Entities: true},
		}, 1)
		var got string
		if !late {
			got = l.step(protocol.DidRead{ID: 3, Shards: []protocol.ShardID{2, 3}})
		}
		got += l.report(1)
		if late {
			got += l.step(protocol.DidRead{ID: 3, Shards: []protocol.ShardID{2, 3}})
		}
		l.expect(got, "2→1@", "3→1@")
	}
}

// TestA2RememberedKnown: a shard that has remembered ids and a home keeps the home. A shard that
// the table names and that no region hosts goes to the home in the table.
func TestA2RememberedKnown(t *testing.T) {
	l := newLoneOf(t, protocol.Config{
		Identity: protocol.Identity{Name: "t", Shards: 4},
		Self:     1, Remember: protocol.Remember[protocol.StoreID]{Entities: true},
	}, 1, 2)
	l.c.term.takeover.table = []protocol.Entry{
		{Shard: 0, Home: 2, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 5}},
		{Shard: 1, Home: 2, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 6}},
	}
	l.report(1)
	got := l.report(2, protocol.Hosted{
		Shard: 0, Phase: protocol.PhaseRunning, Token: protocol.Token{Epoch: 1, Up: 1, Seq: 5},
	})
	got += l.step(protocol.DidRead{ID: 3, Shards: []protocol.ShardID{0, 1, 2}})
	if strings.Contains(got, "0→") {
		t.Errorf("shard 0, which is hosted, is allocated again:\n%s", got)
	}
	l.expect(got, "1→2@", "2→1@")
}

// TestA3PhasesHaveTimers: the second phase of a hand-off has all of its own time, however late the
// first one ended, and when it has passed the home is settled: the owner's late report does not
// count any more.
func TestA3PhasesHaveTimers(t *testing.T) {
	l := acting(t, protocol.Config{
		HandOff: protocol.HandOff{BeginTimeout: 10 * time.Second, FinishTimeout: 60 * time.Second},
	},
		map[protocol.UID][]protocol.ShardID{1: {0, 1}}, 1, 2)
	l.expect(l.after(11*time.Second), "begin 0@")
	id := l.c.term.homes.moves[0].id
	l.now = l.now.Add(9 * time.Second)
	for _, u := range []protocol.UID{1, 2} {
		l.step(protocol.Receive{From: u, Msg: protocol.BeginAck{Shards: []protocol.ShardToken{{Shard: 0, Token: id}}}})
	}
	if got := l.after(59 * time.Second); strings.Contains(got, "abort") {
		t.Fatalf("the first phase shortened the second:\n%s", got)
	}
	l.expect(l.after(2*time.Second), "hand-off-aborted! 0 peer=1", "homes 0→1@")
	if got := l.step(protocol.Receive{
		From: 1, Msg: protocol.ShardsStopped{Shards: []protocol.ShardToken{{Shard: 0, Token: id}}},
	}); got != "" {
		t.Errorf("a report about a hand-off that is over:\n%s", got)
	}
}

// TestA4OnlyTheOwnerStops: the word of another node does not end a hand-off.
func TestA4OnlyTheOwnerStops(t *testing.T) {
	l := acting(t, protocol.Config{}, map[protocol.UID][]protocol.ShardID{1: {0, 1}}, 1, 2)
	l.after(11 * time.Second)
	stopped := protocol.ShardsStopped{Shards: []protocol.ShardToken{{Shard: 0, Token: l.c.term.homes.moves[0].id}}}
	if got := l.step(protocol.Receive{From: 2, Msg: stopped}); got != "" {
		t.Errorf("a stranger's word counts:\n%s", got)
	}
	l.expect(l.step(protocol.Receive{From: 1, Msg: stopped}), "homes 0→2@")
}
