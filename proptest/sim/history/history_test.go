package history_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/sim/history"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

type reader struct{}

func (reader) String() string { return "n1/1" }

// complaints collects the names of broken promises.
type complaints []string

func (c *complaints) add(check, format string, args ...any) {
	if fmt.Sprintf(format, args...) == "" {
		check = "empty"
	}
	*c = append(*c, check)
}

func (c *complaints) want(t *testing.T, what string, checks ...string) {
	t.Helper()
	if !slices.Equal(*c, complaints(checks)) {
		t.Errorf("%s: %q, want %q", what, *c, checks)
	}
	*c = nil
}

func holding(elems ...string) func(*history.Entry) bool {
	return history.Having(func(e string) bool { return slices.Contains(elems, e) })
}

func happened(f *history.Fact, seq uint64) {
	f.Happen(keyspace.Volatile, crdt.Dot{Origin: 1, Seq: seq})
}

// TestSetIsHeldToWhatWasAcknowledged before a read began, and to nothing else.
func TestSetIsHeldToWhatWasAcknowledged(t *testing.T) {
	h := history.New()
	b := h.Set("v/set/1")
	e, late := b.Add("a", 0), b.Add("b", 0)
	happened(&e.Added, 1)
	e.Acknowledge(10)
	late.Acknowledge(30)
	var c complaints
	both := []int{0, 1}
	b.Check(c.add, reader{}, holding(), 20, both)
	c.want(t, "a read misses a", "acknowledged writes")
	b.Check(c.add, reader{}, holding("a"), 20, both)
	c.want(t, "a read begins before b")
	e.Remove()
	b.Check(c.add, reader{}, holding(), 20, both)
	c.want(t, "a is being removed")
	e.Go(40)
	b.Check(c.add, reader{}, holding("a", "b"), 50, both)
	c.want(t, "a is back", "acknowledged removes")
}

// TestExcusedFactsAreNotDemanded: a loss is asked for once, and for those only that have happened in
// the space.
func TestExcusedFactsAreNotDemanded(t *testing.T) {
	h := history.New()
	b, d := h.Set("v/set/1"), h.Set("d/set/1")
	e, other := b.Add("a", 0), d.Add("b", 0)
	happened(&e.Added, 1)
	happened(&other.Added, 2)
	e.Acknowledge(10)
	other.Acknowledge(10)
	asked := 0
	lose := func(f *history.Fact) bool {
		asked++
		f.Lose(history.Crashed)
		return f.Excused()
	}
	h.Lose(false, lose)
	h.Lose(false, lose)
	var c complaints
	b.Check(c.add, reader{}, holding(), 20, []int{0})
	c.want(t, "an excused write is missing")
	d.Check(c.add, reader{}, holding(), 20, []int{0})
	if c.want(t, "a durable one is missing", "acknowledged writes"); asked != 1 {
		t.Errorf("%d facts were asked for", asked)
	}
}

// TestLinearReads: what one read saw every later one sees, and two agree on an order.
func TestLinearReads(t *testing.T) {
	b := history.New().Set("v/set/1")
	b.Add("a", 0)
	b.Add("b", 0)
	var c complaints
	b.CheckLinear(c.add, reader{}, b.Seen(slices.Values([]string{"a"})), 10, 20)
	b.CheckLinear(c.add, reader{}, b.Seen(slices.Values([]string{"b"})), 15, 21)
	c.want(t, "two overlap and disagree", "linearizable reads")
	b.CheckLinear(c.add, reader{}, b.Seen(slices.Values([]string{"a"})), 30, 31)
	c.want(t, "b is missed after it was seen, and the order is another", "linearizable reads", "linearizable reads")
	b.CheckLinear(c.add, reader{}, b.Seen(slices.Values([]string{"a", "b"})), 40, 41)
	c.want(t, "all is seen")
}

// TestLinearReadsOfMany: what was removed may go once, and what is excused at any time.
func TestLinearReadsOfMany(t *testing.T) {
	h := history.New()
	b := h.Set("v/set/1")
	var all []string
	for i := range 100 {
		all = append(all, fmt.Sprint(i))
		b.Add(all[i], 0)
	}
	happened(&b.Entries[99].Added, 1)
	var c complaints
	now := int64(0)
	read := func(missing ...string) {
		now += 10
		elems := slices.DeleteFunc(slices.Clone(all), func(e string) bool { return slices.Contains(missing, e) })
		b.CheckLinear(c.add, reader{}, b.Seen(slices.Values(elems)), now, now+1)
	}
	read()
	c.want(t, "all are seen")
	read("70")
	c.want(t, "70 is missed", "linearizable reads")
	b.Entries[70].Remove()
	read("70")
	c.want(t, "70 is removed")
	read()
	c.want(t, "70 is back", "linearizable reads")
	h.Lose(false, func(f *history.Fact) bool {
		f.Lose(history.Crashed)
		return true
	})
	read("70", "99")
	c.want(t, "99 is lost")
	var f history.Fact
	f.Lose(history.Crashed)
	b.Entries[98].Take(f, now)
	read("70", "98", "99")
	c.want(t, "the removal of 98 may be lost")
	b.Entries[98].Take(history.Fact{}, now)
	read("70", "98", "99")
	c.want(t, "98 is missed", "linearizable reads")
}

// TestSum is held to what was acknowledged, and to what was asked for.
func TestSum(t *testing.T) {
	b := history.New().Sum("v/sum/1")
	i := b.Ask(3)
	b.Ask(2)
	b.Acknowledge(i, 10)
	var c complaints
	for _, got := range []uint64{2, 3, 5, 6} {
		b.Check(c.add, reader{}, got, 20)
	}
	c.want(t, "2 and 6 are wrong", "acknowledged sums", "acknowledged sums")
	b.Check(c.add, reader{}, 0, 5)
	c.want(t, "a read begins before")
	b.CheckLinear(c.add, reader{}, 5, 20, 21)
	b.CheckLinear(c.add, reader{}, 3, 30, 31)
	c.want(t, "a later read counts less", "linearizable reads")
}

// TestFleeting: an element may go when its key has been alone for its time, and not before.
func TestFleeting(t *testing.T) {
	b := history.New().Fleeting("v/x/1")
	b.Add("a", 0).Own(1, 0)
	b.Entries[0].Acknowledge(1)
	var c complaints
	for _, now := range []time.Duration{3 * time.Second, 5 * time.Second} {
		b.CheckFleeting(c.add, reader{}, holding(), 10, []int{0}, 4*time.Second, 0, int64(now))
	}
	c.want(t, "the key is gone after 3 s of 4", "expires in its time")
}

// TestFinalBegins: a deleted key is followed by a new one, and the first deletion counts.
func TestFinalBegins(t *testing.T) {
	h := history.New()
	b := h.Final("v/", 0)
	b.Ask(10)
	b.Ask(20)
	var f history.Fact
	happened(&f, 1)
	b.Delete(f, 30)
	b.Delete(f, 40)
	b.Tell(7, 30)
	b.Tell(7, 40)
	if b.Asked != 10 || b.Gone != 30 || b.Told[7] != 30 {
		t.Errorf("asked %d, gone %d, told %d", b.Asked, b.Gone, b.Told[7])
	}
	if next := h.Final("v/", 0); next == b || h.Final("v/", 1) != b || len(h.FinalsInOrder()) != 2 {
		t.Errorf("%v follows %v", next.Key, b.Key)
	}
}

// TestAgreed: what only one replica had when its key became durable need not last, and need not be on the
// disk of a node that was removed before.
func TestAgreed(t *testing.T) {
	h := history.New()
	b := h.Set("v/set/1")
	e, acked, removed := b.Add("a", 0), b.Add("b", 0), b.Add("c", 1)
	e.Apply(10)
	for _, a := range []*history.Entry{acked, removed} {
		a.Apply(10)
		a.Acknowledge(11)
	}
	h.Agreed([]string{"v/set/*"}, func(slot int) bool { return slot == 0 })
	if !b.Durable || e.Local != 0 || acked.Local != 10 || removed.Local != 0 {
		t.Errorf("durable %v, local %d, %d and %d", b.Durable, e.Local, acked.Local, removed.Local)
	}
	h.Ruined(0, &crdt.Clock{})
	if acked.Local != 0 {
		t.Error("a ruined disk is believed")
	}
}

// TestUnheard: an update that a majority had in time must have been applied, unless it is excused.
func TestUnheard(t *testing.T) {
	l := history.New()
	e := l.Set("v/set/1").Add("e1", 0)
	e.Added.Happen(keyspace.Volatile, crdt.Dot{Origin: 1, Seq: 1})
	e.Acknowledge(10)
	none := func(string, *history.Fact) bool { return false }
	all := func(string, *history.Fact) bool { return true }
	if got, in := l.Unheard(11, none); got != e || in != l.Set("v/set/1") {
		t.Errorf("%v of %v is unheard", got, in)
	}
	if got, _ := l.Unheard(11, all); got != nil {
		t.Errorf("%v is unheard, and applied", got)
	}
	if got, _ := l.Unheard(10, none); got != nil {
		t.Errorf("%v is unheard, and was acknowledged later", got)
	}
	e.Added.Lose(history.Crashed)
	if got, _ := l.Unheard(11, none); got != nil {
		t.Errorf("%v is unheard, and excused", got)
	}
}
