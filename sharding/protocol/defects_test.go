package protocol

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// The defects of the reference's coordinator that this one must not have, by their numbers in its list.

// TestA1RememberedLate: the shards with remembered ids are read slowly, and come when the takeover is over or under way: all get a home.
func TestA1RememberedLate(t *testing.T) {
	for _, late := range []bool{false, true} {
		l := newLoneOf(t, Config{Type: "t", Self: 1, Shards: 4, Remember: true}, 1)
		var got string
		if !late {
			got = l.step(DidRead{ID: 3, Shards: []ShardID{2, 3}})
		}
		got += l.report(1)
		if late {
			got += l.step(DidRead{ID: 3, Shards: []ShardID{2, 3}})
		}
		l.expect(got, "2→1@", "3→1@")
	}
}

// TestA2RememberedKnown: a shard that has remembered ids and a home keeps the home, and one that the table names and nobody hosts goes there.
func TestA2RememberedKnown(t *testing.T) {
	l := newLoneOf(t, Config{Type: "t", Self: 1, Shards: 4, Remember: true}, 1, 2)
	l.c.takeover.table = []Entry{{Shard: 0, Home: 2, Token: Token{1, 1, 5}}, {Shard: 1, Home: 2, Token: Token{1, 1, 6}}}
	l.report(1)
	got := l.report(2, Hosted{Shard: 0, Phase: PhaseRunning, Token: Token{1, 1, 5}})
	got += l.step(DidRead{ID: 3, Shards: []ShardID{0, 1, 2}})
	if strings.Contains(got, "0→") {
		t.Errorf("shard 0, which is hosted, is allocated again:\n%s", got)
	}
	l.expect(got, "1→2@", "2→1@")
}

// TestA3PhasesHaveTimers: the second phase of a hand-off has all of its own time, however late the first one ended, and when it has passed the home
// is settled: the owner's late report does not count any more.
func TestA3PhasesHaveTimers(t *testing.T) {
	l := reigns(t, Config{BeginTimeout: 10 * time.Second, HandOffTimeout: 60 * time.Second}, map[UID][]ShardID{1: {0, 1}}, 1, 2)
	l.expect(l.after(11*time.Second), "begin 0@")
	id := l.c.moves[0].id
	l.now = l.now.Add(9 * time.Second)
	for _, u := range []UID{1, 2} {
		l.step(Receive{From: u, Msg: BeginAck{Shards: []ShardToken{{0, id}}}})
	}
	if got := l.after(59 * time.Second); strings.Contains(got, "abort") {
		t.Fatalf("the first phase shortened the second:\n%s", got)
	}
	l.expect(l.after(2*time.Second), "hand-off-aborted! 0 peer=1", "homes 0→1@")
	if got := l.step(Receive{From: 1, Msg: ShardsStopped{Shards: []ShardToken{{0, id}}}}); got != "" {
		t.Errorf("a report about a hand-off that is over:\n%s", got)
	}
}

// TestA4OnlyTheOwnerStops: the word of another node does not end a hand-off.
func TestA4OnlyTheOwnerStops(t *testing.T) {
	l := reigns(t, Config{}, map[UID][]ShardID{1: {0, 1}}, 1, 2)
	l.after(11 * time.Second)
	stopped := ShardsStopped{Shards: []ShardToken{{0, l.c.moves[0].id}}}
	if got := l.step(Receive{From: 2, Msg: stopped}); got != "" {
		t.Errorf("a stranger's word counts:\n%s", got)
	}
	l.expect(l.step(Receive{From: 1, Msg: stopped}), "homes 0→2@")
}

// TestA20ShardsAreForgotten: the set of shards with remembered ids shrinks: a shard whose last id went is not started any more.
func TestA20ShardsAreForgotten(t *testing.T) {
	sh, err := NewShard(Config{Type: "t", Self: 1, Shards: 4, Remember: true, ShardOf: func(EntityID) ShardID { return 2 }}, newRand(), 2)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	var writes []StateWrite
	step := func(in ShardInput) {
		fx := sh.Step(now, in)
		todo := slices.Clone(fx.Write)
		for _, r := range fx.Read {
			now = now.Add(time.Second)
			writes = append(writes, sh.Step(now, DidRead{ID: r.ID, IDs: []EntityID{"a"}}).Write...)
		}
		for len(todo) > 0 {
			w := todo[0]
			writes = append(writes, w)
			todo = append(todo[1:], slices.Clone(sh.Step(now, Wrote{ID: w.ID}).Write)...)
		}
	}
	step(Open{})
	step(Passivate{ID: "a"})
	step(EntityStopped{ID: "a"})
	if !slices.ContainsFunc(writes, func(w StateWrite) bool { return slices.Equal(w.RemoveShards, []ShardID{2}) }) {
		t.Errorf("writes %v: the shard is never taken out", writes)
	}
}
