package protocol

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The defects of the reference's coordinator and shard that these must not have, by their numbers
// in its list. The table in package proptest names the tests of all.

// TestA1RememberedLate: the shards with remembered ids are read slowly, and come when the takeover
// is over or under way: all get a home.
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

// TestA2RememberedKnown: a shard that has remembered ids and a home keeps the home. A shard that
// the table names and that no region hosts goes to the home in the table.
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

// TestA3PhasesHaveTimers: the second phase of a hand-off has all of its own time, however late the
// first one ended, and when it has passed the home is settled: the owner's late report does not
// count any more.
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

// soloShard is a Shard machine without a world, which remembers; the test is its world.
type soloShard struct {
	t   *testing.T
	sh  *Shard
	now time.Time
}

func newSoloShard(t *testing.T) *soloShard {
	sh, err := NewShard(Config{Type: "t", Self: 1, Shards: 4, Remember: true, ShardOf: func(EntityID) ShardID { return 2 }}, newRand(), 2)
	if err != nil {
		t.Fatal(err)
	}
	return &soloShard{t: t, sh: sh, now: time.Unix(0, 0)}
}

// step returns the write that the step begins, if any. The effects are valid until the next one.
func (s *soloShard) step(in ShardInput) (*ShardEffects, StateWrite) {
	s.t.Helper()
	fx := s.sh.Step(s.now, in)
	if len(fx.Write) > 1 {
		s.t.Errorf("%v begins %d writes", in, len(fx.Write))
	}
	for _, w := range fx.Write {
		return fx, w
	}
	return fx, StateWrite{}
}

// opened returns a shard that has read its ids and found none. The write of its first id has put it
// into the set of shards that have some.
func opened(t *testing.T, first EntityID) (s *soloShard, under StateWrite) {
	s = newSoloShard(t)
	fx, _ := s.step(Open{})
	s.step(DidRead{ID: fx.Read[0].ID})
	_, w := s.step(StartEntity{ID: first, Req: 1})
	if !slices.Equal(w.AddShards, []ShardID{2}) {
		t.Fatalf("the first write is %v", w)
	}
	_, under = s.step(Wrote{ID: w.ID})
	return s, under
}

// TestA8OneWriteAtATime: ids that are started while a write is under way wait for the next one, all
// together, and every caller is answered.
func TestA8OneWriteAtATime(t *testing.T) {
	s, under := opened(t, "a")
	if !slices.Equal(under.AddIDs, []EntityID{"a"}) {
		t.Fatalf("the write under way is %v", under)
	}
	for i, id := range []EntityID{"b", "c", "b"} {
		if _, w := s.step(StartEntity{ID: id, Req: uint64(i + 2)}); w.ID != 0 {
			t.Errorf("%s: a second write at one time: %v", id, w)
		}
	}
	fx, next := s.step(Wrote{ID: under.ID})
	if !slices.Equal(fx.Reply, []uint64{1}) || !slices.Equal(next.AddIDs, []EntityID{"b", "c"}) {
		t.Errorf("replies %v, then the write %v", fx.Reply, next)
	}
	fx, _ = s.step(Wrote{ID: next.ID})
	if got := slices.Sorted(slices.Values(fx.Reply)); !slices.Equal(got, []uint64{2, 3, 4}) {
		t.Errorf("replies %v", got)
	}
}

// TestVanishedIDIsAddedAgain: a removal by an earlier owner that arrives late takes no id away from
// an entity that runs; one that was passivated stays away.
func TestVanishedIDIsAddedAgain(t *testing.T) {
	s, under := opened(t, "a")
	_, w := s.step(Wrote{ID: under.ID})
	if w.ID != 0 {
		t.Fatalf("%v is written", w)
	}
	_, w = s.step(IDsChanged{Added: []EntityID{"a"}})
	if w.ID != 0 {
		t.Errorf("what it has written itself is written again: %v", w)
	}
	if _, w = s.step(IDsChanged{Removed: []EntityID{"a", "stranger"}}); !slices.Equal(w.AddIDs, []EntityID{"a"}) {
		t.Errorf("it writes %v", w)
	}
	s.step(Wrote{ID: w.ID})
	s.step(Passivate{ID: "a"})
	_, w = s.step(EntityStopped{ID: "a"})
	if !slices.Equal(w.RemoveIDs, []EntityID{"a"}) {
		t.Fatalf("it writes %v", w)
	}
	s.step(Wrote{ID: w.ID})
	if _, w = s.step(IDsChanged{Removed: []EntityID{"a"}}); len(w.AddIDs) > 0 {
		t.Errorf("what was passivated is added again: %v", w)
	}
}

// TestIDThatVanishesBeforeItsStart: the same removal may come between the write that puts an id and
// the word that it is safe. The entity starts then and has to be remembered.
func TestIDThatVanishesBeforeItsStart(t *testing.T) {
	s, under := opened(t, "a")
	s.step(IDsChanged{Removed: []EntityID{"a"}})
	if _, w := s.step(Wrote{ID: under.ID}); !slices.Equal(w.AddIDs, []EntityID{"a"}) {
		t.Errorf("it writes %v", w)
	}
}

// TestRepeatedWritesSayHowOften: a driver gives a write the more time the more often it has failed,
// and the next one begins anew.
func TestRepeatedWritesSayHowOften(t *testing.T) {
	s, w := opened(t, "a")
	for failed := range uint(4) {
		if w.Failed != failed || !slices.Equal(w.AddIDs, []EntityID{"a"}) {
			t.Fatalf("after %d failures it writes %v", failed, w)
		}
		s.step(Wrote{ID: w.ID, Err: errSimState})
		for w = (StateWrite{}); w.ID == 0; {
			s.now = s.sh.Deadline()
			_, w = s.step(Tick{})
		}
	}
	s.step(StartEntity{ID: "b", Req: 2})
	if _, w = s.step(Wrote{ID: w.ID}); w.Failed != 0 || !slices.Equal(w.AddIDs, []EntityID{"b"}) {
		t.Errorf("the next write is %v", w)
	}
}

// TestA11WritesCountIDs: what has gathered is written in parts of so many ids, whatever it came
// from.
func TestA11WritesCountIDs(t *testing.T) {
	s, under := opened(t, "first")
	const n = writeIDsMax + 10
	for i := range n {
		s.step(Wake{ID: EntityID(strconv.Itoa(i))})
	}
	_, w := s.step(Wrote{ID: under.ID})
	if len(w.AddIDs) != writeIDsMax {
		t.Errorf("%d ids in the first part", len(w.AddIDs))
	}
	if _, w = s.step(Wrote{ID: w.ID}); len(w.AddIDs) != n-writeIDsMax {
		t.Errorf("%d ids in the second part", len(w.AddIDs))
	}
}

// TestA13StoreThatComesBack: however long the store of remembered ids fails, the shard neither
// gives up nor starts anew, and opens when it answers.
func TestA13StoreThatComesBack(t *testing.T) {
	s := newSoloShard(t)
	fx, _ := s.step(Open{})
	read := fx.Read[0].ID
	s.step(Wake{ID: "a"})
	s.step(Wake{ID: "b"})
	for i := range 1000 {
		fx, _ = s.step(DidRead{ID: read, Err: errSimState})
		if at := s.sh.Deadline(); !at.After(s.now) || len(fx.Region) > 0 {
			t.Fatalf("failure %d: it waits until %v and tells its region %v", i, at, fx.Region)
		}
		s.now = s.sh.Deadline()
		if fx, _ = s.step(Tick{}); len(fx.Read) != 1 || len(fx.Region) > 0 {
			t.Fatalf("failure %d: then it reads %v and tells its region %v", i, fx.Read, fx.Region)
		}
		read = fx.Read[0].ID
	}
	fx, w := s.step(DidRead{ID: read, IDs: []EntityID{"a"}})
	if len(fx.Region) != 1 || fx.Region[0] != (ShardStarted{Shard: 2}) {
		t.Errorf("the region hears %v", fx.Region)
	}
	if !slices.Equal(w.AddIDs, []EntityID{"b"}) {
		t.Errorf("it writes %v", w)
	}
}

// TestA20ShardsAreForgotten: the set of shards with remembered ids shrinks: a shard whose last id
// went is not started any more.
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
