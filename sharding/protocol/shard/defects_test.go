package shard

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// soloShard is a Shard machine without a world, which remembers; the test is its world.
type soloShard struct {
	t   *testing.T
	sh  *Shard
	now time.Time
}

func newSoloShard(t *testing.T) *soloShard {
	sh, err := New(protocol.Config{
		Identity: protocol.Identity{
			Name: "t", Shards: 4,
			ShardOf: protocol.ShardFunc{Name: "two", Of: func(string) protocol.ShardID { return 2 }},
		},
		Self: 1, Remember: protocol.Remember[protocol.StoreID]{Entities: true},
	}, newRand(), 2)
	if err != nil {
		t.Fatal(err)
	}
	return &soloShard{t: t, sh: sh, now: time.Unix(0, 0)}
}

// step returns the write that the step begins, if any. The effects are valid until the next one.
func (s *soloShard) step(in protocol.ShardInput) (*protocol.ShardEffects, protocol.StateWrite) {
	s.t.Helper()
	fx := s.sh.Step(s.now, in)
	if len(fx.Write) > 1 {
		s.t.Errorf("%v begins %d writes", in, len(fx.Write))
	}
	for _, w := range fx.Write {
		return fx, w
	}
	return fx, protocol.StateWrite{}
}

// opened returns a shard that has read its ids and found none. The write of its first id has put it
// into the set of shards that have some.
func opened(t *testing.T, first protocol.EntityID) (s *soloShard, under protocol.StateWrite) {
	s = newSoloShard(t)
	fx, _ := s.step(protocol.Open{})
	s.step(protocol.DidRead{ID: fx.Read[0].ID})
	_, w := s.step(protocol.StartEntity{ID: first, Req: 1})
	if !slices.Equal(w.AddShards, []protocol.ShardID{2}) {
		t.Fatalf("the first write is %v", w)
	}
	_, under = s.step(protocol.Wrote{ID: w.ID})
	return s, under
}

// TestA8OneWriteAtATime: ids that are started while a write is under way wait for the next one, all
// together, and every caller is answered.
func TestA8OneWriteAtATime(t *testing.T) {
	s, under := opened(t, "a")
	if !slices.Equal(under.AddIDs, []protocol.EntityID{"a"}) {
		t.Fatalf("the write under way is %v", under)
	}
	for i, id := range []protocol.EntityID{"b", "c", "b"} {
		if _, w := s.step(protocol.StartEntity{ID: id, Req: uint64(i + 2)}); w.ID != 0 {
			t.Errorf("%s: a second write at one time: %v", id, w)
		}
	}
	fx, next := s.step(protocol.Wrote{ID: under.ID})
	if !slices.Equal(fx.Reply, []uint64{1}) || !slices.Equal(next.AddIDs, []protocol.EntityID{"b", "c"}) {
		t.Errorf("replies %v, then the write %v", fx.Reply, next)
	}
	fx, _ = s.step(protocol.Wrote{ID: next.ID})
	if got := slices.Sorted(slices.Values(fx.Reply)); !slices.Equal(got, []uint64{2, 3, 4}) {
		t.Errorf("replies %v", got)
	}
}

// TestVanishedIDIsAddedAgain: a removal by an earlier owner that arrives late takes no id away from
// an entity that runs; one that was passivated stays away.
func TestVanishedIDIsAddedAgain(t *testing.T) {
	s, under := opened(t, "a")
	_, w := s.step(protocol.Wrote{ID: under.ID})
	if w.ID != 0 {
		t.Fatalf("%v is written", w)
	}
	_, w = s.step(protocol.IDsChanged{Added: []protocol.EntityID{"a"}})
	if w.ID != 0 {
		t.Errorf("what it has written itself is written again: %v", w)
	}
	if _, w = s.step(protocol.IDsChanged{Removed: []protocol.EntityID{"a", "stranger"}}); !slices.Equal(w.AddIDs,
		[]protocol.EntityID{"a"}) {
		t.Errorf("it writes %v", w)
	}
	s.step(protocol.Wrote{ID: w.ID})
	s.step(protocol.Passivate{ID: "a"})
	_, w = s.step(protocol.EntityStopped{ID: "a"})
	if !slices.Equal(w.RemoveIDs, []protocol.EntityID{"a"}) {
		t.Fatalf("it writes %v", w)
	}
	s.step(protocol.Wrote{ID: w.ID})
	if _, w = s.step(protocol.IDsChanged{Removed: []protocol.EntityID{"a"}}); len(w.AddIDs) > 0 {
		t.Errorf("what was passivated is added again: %v", w)
	}
}

// TestIDThatVanishesBeforeItsStart: the same removal may come between the write that puts an id and
// the word that it is safe. The entity starts then and has to be remembered.
func TestIDThatVanishesBeforeItsStart(t *testing.T) {
	s, under := opened(t, "a")
	s.step(protocol.IDsChanged{Removed: []protocol.EntityID{"a"}})
	if _, w := s.step(protocol.Wrote{ID: under.ID}); !slices.Equal(w.AddIDs, []protocol.EntityID{"a"}) {
		t.Errorf("it writes %v", w)
	}
}

// TestRepeatedWritesSayHowOften: a driver gives a write the more time the more often it has failed,
// and the next one begins anew.
func TestRepeatedWritesSayHowOften(t *testing.T) {
	s, w := opened(t, "a")
	for failed := range uint(4) {
		if w.Failed != failed || !slices.Equal(w.AddIDs, []protocol.EntityID{"a"}) {
			t.Fatalf("after %d failures it writes %v", failed, w)
		}
		s.step(protocol.Wrote{ID: w.ID, Err: errStore})
		for w = (protocol.StateWrite{}); w.ID == 0; {
			s.now = s.sh.Deadline()
			_, w = s.step(protocol.Tick{})
		}
	}
	s.step(protocol.StartEntity{ID: "b", Req: 2})
	if _, w = s.step(protocol.Wrote{ID: w.ID}); w.Failed != 0 || !slices.Equal(w.AddIDs, []protocol.EntityID{"b"}) {
		t.Errorf("the next write is %v", w)
	}
}

// TestA11WritesCountIDs: what has gathered is written in parts of so many ids, whatever it came
// from.
func TestA11WritesCountIDs(t *testing.T) {
	s, under := opened(t, "first")
	const n = writeIDsMax + 10
	for i := range n {
		s.step(protocol.Wake{ID: protocol.EntityID(strconv.Itoa(i))})
	}
	_, w := s.step(protocol.Wrote{ID: under.ID})
	if len(w.AddIDs) != writeIDsMax {
		t.Errorf("%d ids in the first part", len(w.AddIDs))
	}
	if _, w = s.step(protocol.Wrote{ID: w.ID}); len(w.AddIDs) != n-writeIDsMax {
		t.Errorf("%d ids in the second part", len(w.AddIDs))
	}
}

// TestA13StoreThatComesBack: however long the store of remembered ids fails, the shard neither
// gives up nor starts anew, and opens when it answers.
func TestA13StoreThatComesBack(t *testing.T) {
	s := newSoloShard(t)
	fx, _ := s.step(protocol.Open{})
	read := fx.Read[0].ID
	s.step(protocol.Wake{ID: "a"})
	s.step(protocol.Wake{ID: "b"})
	for i := range 1000 {
		fx, _ = s.step(protocol.DidRead{ID: read, Err: errStore})
		if at := s.sh.Deadline(); !at.After(s.now) || len(fx.Region) > 0 {
			t.Fatalf("failure %d: it waits until %v and tells its region %v", i, at, fx.Region)
		}
		s.now = s.sh.Deadline()
		if fx, _ = s.step(protocol.Tick{}); len(fx.Read) != 1 || len(fx.Region) > 0 {
			t.Fatalf("failure %d: then it reads %v and tells its region %v", i, fx.Read, fx.Region)
		}
		read = fx.Read[0].ID
	}
	fx, w := s.step(protocol.DidRead{ID: read, IDs: []protocol.EntityID{"a"}})
	if len(fx.Region) != 1 || fx.Region[0] != (protocol.ShardStarted{Shard: 2}) {
		t.Errorf("the region hears %v", fx.Region)
	}
	if !slices.Equal(w.AddIDs, []protocol.EntityID{"b"}) {
		t.Errorf("it writes %v", w)
	}
}

// TestA20ShardsAreForgotten: the set of shards with remembered ids shrinks: a shard whose last id
// went is not started any more.
func TestA20ShardsAreForgotten(t *testing.T) {
	sh, err := New(protocol.Config{
		Identity: protocol.Identity{
			Name: "t", Shards: 4,
			ShardOf: protocol.ShardFunc{Name: "two", Of: func(string) protocol.ShardID { return 2 }},
		},
		Self: 1, Remember: protocol.Remember[protocol.StoreID]{Entities: true},
	}, newRand(), 2)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	var writes []protocol.StateWrite
	step := func(in protocol.ShardInput) {
		fx := sh.Step(now, in)
		todo := slices.Clone(fx.Write)
		for _, r := range fx.Read {
			now = now.Add(time.Second)
			writes = append(writes, sh.Step(now, protocol.DidRead{ID: r.ID, IDs: []protocol.EntityID{"a"}}).Write...)
		}
		for len(todo) > 0 {
			w := todo[0]
			writes = append(writes, w)
			todo = append(todo[1:], slices.Clone(sh.Step(now, protocol.Wrote{ID: w.ID}).Write)...)
		}
	}
	step(protocol.Open{})
	step(protocol.Passivate{ID: "a"})
	step(protocol.EntityStopped{ID: "a"})
	if !slices.ContainsFunc(writes, func(w protocol.StateWrite) bool {
		return slices.Equal(w.RemoveShards, []protocol.ShardID{2})
	}) {
		t.Errorf("writes %v: the shard is never taken out", writes)
	}
}

// errStore is why a read or a write fails.
var errStore = errors.New("no majority")

func newRand() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }

// TestAnIDThatWentAgainIsNotStarted: an id that appears in the set and is removed again stays away,
// also if the read that looks for it was begun in between.
func TestAnIDThatWentAgainIsNotStarted(t *testing.T) {
	s, under := opened(t, "a")
	s.step(protocol.Wrote{ID: under.ID})
	fx, _ := s.step(protocol.IDsChanged{Added: []protocol.EntityID{"x", "y"}})
	if len(fx.Read) != 1 {
		t.Fatalf("ids that appeared are not looked for: %v", fx)
	}
	read := fx.Read[0].ID
	s.step(protocol.IDsChanged{Removed: []protocol.EntityID{"x"}})
	_, w := s.step(protocol.DidRead{ID: read, IDs: []protocol.EntityID{"a", "x", "y"}})
	if !slices.Equal(w.AddIDs, []protocol.EntityID{"y"}) {
		t.Errorf("it remembers the start of %v", w.AddIDs)
	}
}

// TestALateAnswerIsNotThatOfTheNextTry: a write that has failed may still complete. What it says then
// is not about the write that repeats it.
func TestALateAnswerIsNotThatOfTheNextTry(t *testing.T) {
	s, w := opened(t, "a")
	s.step(protocol.Wrote{ID: w.ID, Err: errStore})
	again := protocol.StateWrite{}
	for again.ID == 0 {
		s.now = s.sh.Deadline()
		_, again = s.step(protocol.Tick{})
	}
	if fx, _ := s.step(protocol.Wrote{ID: w.ID}); len(fx.Do) > 0 {
		t.Errorf("a late answer brings about %v", fx.Do)
	}
	if fx, _ := s.step(protocol.Wrote{ID: again.ID}); len(fx.Do) == 0 {
		t.Error("the answer to the second try brings about nothing")
	}
}

// TestNoEntityIsBetweenTwoStatesWhenDrained: the mailboxes may be empty while an id is about to be
// written that has messages. They are asked again when it is.
func TestNoEntityIsBetweenTwoStatesWhenDrained(t *testing.T) {
	s, under := opened(t, "a")
	s.step(protocol.Wrote{ID: under.ID})
	handOff := protocol.Token{Epoch: 1, Up: 1, Seq: 7}
	asks := func(fx *protocol.ShardEffects) bool {
		return slices.ContainsFunc(fx.Do, func(a protocol.ShardAction) bool {
			return a == protocol.DrainMailboxes{HandOff: handOff}
		})
	}
	if fx, _ := s.step(protocol.Drain{HandOff: handOff}); !asks(fx) {
		t.Fatalf("the mailboxes are not asked: %v", fx.Do)
	}
	_, w := s.step(protocol.Wake{ID: "b"})
	if !slices.Equal(w.AddIDs, []protocol.EntityID{"b"}) {
		t.Fatalf("it writes %v", w)
	}
	if fx, _ := s.step(protocol.MailboxesEmpty{HandOff: handOff}); len(fx.Region) > 0 || asks(fx) {
		t.Errorf("the region hears %v while an id is written, and it does %v", fx.Region, fx.Do)
	}
	if fx, _ := s.step(protocol.Wrote{ID: w.ID}); !asks(fx) {
		t.Errorf("the mailboxes are not asked again: %v", fx.Do)
	}
	fx, _ := s.step(protocol.MailboxesEmpty{HandOff: handOff})
	if len(fx.Region) != 1 || fx.Region[0] != (protocol.ShardDrained{Shard: 2, HandOff: handOff}) {
		t.Errorf("the region hears %v", fx.Region)
	}
}

// TestStoppedWhenWritten: a shard has not stopped while a write of its ids is under way, because the
// next home reads them. One that does not wait for that says so at once.
func TestStoppedWhenWritten(t *testing.T) {
	for _, hurries := range []bool{false, true} {
		s, under := opened(t, "a")
		if hurries {
			s.sh.cfg.Plant(defect.Of(defect.NoRememberWait))
		}
		stopped := func(fx *protocol.ShardEffects) bool {
			return slices.ContainsFunc(fx.Region, func(in protocol.RegionInput) bool {
				_, is := in.(protocol.ShardStopped)
				return is
			})
		}
		fx, _ := s.step(protocol.Stop{HandOff: protocol.Token{Epoch: 1, Up: 1, Seq: 1}})
		if stopped(fx) != hurries {
			t.Errorf("hurries %t: while it writes it says\n%v", hurries, fx)
		}
		if hurries {
			continue
		}
		for range 3 { // what the write made due is written too
			if fx, under = s.step(protocol.Wrote{ID: under.ID}); under.ID == 0 {
				break
			}
		}
		if !stopped(fx) {
			t.Errorf("when all is written it says\n%v", fx)
		}
	}
}

// running returns a shard without a store in which an entity runs.
func running(t *testing.T) *soloShard {
	sh, err := New(protocol.Config{Identity: protocol.Identity{Name: "t", Shards: 4}, Self: 1}, newRand(), 2)
	if err != nil {
		t.Fatal(err)
	}
	s := &soloShard{t: t, sh: sh, now: time.Unix(0, 0)}
	s.step(protocol.Open{})
	if fx, _ := s.step(protocol.Wake{ID: "a"}); len(fx.Do) != 1 {
		t.Fatalf("it does not start:\n%v", fx)
	}
	return s
}

// due steps the shard when it wants to be stepped.
func (s *soloShard) due() *protocol.ShardEffects {
	s.t.Helper()
	if s.now = s.sh.Deadline(); s.now.IsZero() {
		s.t.Fatal("it waits for nothing")
	}
	fx, _ := s.step(protocol.Tick{})
	return fx
}

// TestAForcedStopThatIsStuckIsTold: an entity that does not end is ended by force. If it does not
// end then either, an operator hears of it.
func TestAForcedStopThatIsStuckIsTold(t *testing.T) {
	s := running(t)
	handOff := protocol.Token{Epoch: 1, Up: 1, Seq: 7}
	s.step(protocol.Stop{HandOff: handOff})
	for i, want := range []protocol.EventKind{protocol.StopForced, protocol.StopStuck} {
		fx := s.due()
		if len(fx.Notify) != 1 || fx.Notify[0].Kind != want || fx.Notify[0].Count != 1 {
			t.Errorf("after time-out %d it says\n%v", i+1, fx)
		}
	}
	if !s.sh.Deadline().IsZero() {
		t.Error("it says so again and again")
	}
	if fx, _ := s.step(protocol.EntityStopped{ID: "a"}); len(fx.Region) != 1 ||
		fx.Region[0] != (protocol.ShardStopped{Shard: 2, HandOff: handOff}) {
		t.Errorf("when it has ended at last the region hears\n%v", fx)
	}
}

// TestAResumedShardForgetsItsStop: a shard that goes on ends no entity by force when the time of the
// stop is over that was taken back.
func TestAResumedShardForgetsItsStop(t *testing.T) {
	s := running(t)
	s.step(protocol.Stop{HandOff: protocol.Token{Epoch: 1, Up: 1, Seq: 7}})
	if s.sh.Deadline().IsZero() {
		t.Fatal("the stop has no time-out")
	}
	if s.step(protocol.Resume{}); !s.sh.Deadline().IsZero() {
		t.Errorf("after it has resumed it does\n%v", s.due())
	}
}

// TestMailboxesOfAnEarlierHandOff: that the mailboxes were empty for one hand-off says nothing about
// those of the next one: the shard was open in between.
func TestMailboxesOfAnEarlierHandOff(t *testing.T) {
	s := running(t)
	one, two := protocol.Token{Epoch: 1, Up: 1, Seq: 7}, protocol.Token{Epoch: 1, Up: 1, Seq: 8}
	s.step(protocol.Drain{HandOff: one})
	s.step(protocol.Resume{})
	s.step(protocol.Drain{HandOff: two})
	if fx, _ := s.step(protocol.MailboxesEmpty{HandOff: one}); len(fx.Region) != 0 {
		t.Errorf("the region hears %v", fx.Region)
	}
	if fx, _ := s.step(protocol.MailboxesEmpty{HandOff: two}); len(fx.Region) != 1 ||
		fx.Region[0] != (protocol.ShardDrained{Shard: 2, HandOff: two}) {
		t.Errorf("the region hears %v", fx.Region)
	}
}

// TestAShardThatDrainsStartsNothing: what is remembered and has not started yet starts at the next
// home. The shard does not wait for its time any more.
func TestAShardThatDrainsStartsNothing(t *testing.T) {
	s := newSoloShard(t)
	s.sh.cfg.Remember.Recovery = protocol.Recovery{Number: 1, Interval: time.Second}
	fx, _ := s.step(protocol.Open{})
	s.step(protocol.DidRead{ID: fx.Read[0].ID, IDs: []protocol.EntityID{"a", "b", "c"}})
	before := s.sh.population.entities.running
	if before == 0 || before == 3 || s.sh.Deadline().IsZero() {
		t.Fatalf("%d of three run, more at %v", before, s.sh.Deadline())
	}
	s.step(protocol.Drain{HandOff: protocol.Token{Epoch: 1, Up: 1, Seq: 7}})
	if at := s.sh.Deadline(); !at.IsZero() {
		t.Errorf("while it drains it waits until %v", at)
	}
	s.now = s.now.Add(time.Hour)
	if fx, _ := s.step(protocol.Tick{}); len(fx.Do) > 0 || s.sh.population.entities.running != before {
		t.Errorf("while it drains it does\n%v", fx)
	}
}

// A shard that a later hosting has fenced writes nothing any more, keeps what waits, and stops without a
// write: what was to be forgotten, and what was to be remembered, is its successor's.
func TestFencedShardWritesNothing(t *testing.T) {
	s, under := opened(t, "a")
	_, w := s.step(protocol.Wrote{ID: under.ID}) // "a" runs
	if w.ID != 0 {
		t.Fatalf("it writes %v", w)
	}
	s.step(protocol.Passivate{ID: "a"})
	_, removal := s.step(protocol.EntityStopped{ID: "a"})
	if !slices.Equal(removal.RemoveIDs, []protocol.EntityID{"a"}) {
		t.Fatalf("it writes %v", removal)
	}
	s.step(protocol.StartEntity{ID: "b", Req: 2})
	fx, w := s.step(protocol.Wrote{ID: removal.ID, Err: protocol.ErrFenced})
	if told := func(e protocol.Event) bool { return e.Kind == protocol.RememberFailed }; w.ID != 0 ||
		!slices.ContainsFunc(fx.Notify, told) {
		t.Errorf("fenced, it writes %v and tells %v", w, fx.Notify)
	}
	for _, in := range []protocol.ShardInput{
		protocol.StartEntity{ID: "a", Req: 3}, protocol.StartEntity{ID: "c", Req: 4}, protocol.Tick{},
	} {
		s.now = s.now.Add(time.Hour)
		if fx, w := s.step(in); w.ID != 0 || len(fx.Reply) > 0 {
			t.Errorf("%v: it writes %v and replies to %v", in, w, fx.Reply)
		}
	}
	fx, w = s.step(protocol.Stop{})
	if w.ID != 0 || len(fx.Region) == 0 {
		t.Errorf("told to stop, it writes %v and says %v", w, fx.Region)
	}
}
