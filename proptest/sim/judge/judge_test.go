package judge_test

import (
	"slices"
	"testing"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/proptest/sim/judge"
)

// book is a judge that notes its complaints.
type book struct {
	*judge.Judge
	checks []string
}

func newBook() *book {
	b := &book{}
	b.Judge = judge.New(func(check, _ string, _ ...any) { b.checks = append(b.checks, check) })
	return b
}

var e = judge.Entity{Type: "t", ID: "e"}

func hosting(seq uint64) judge.Hosting {
	return judge.Hosting{Type: "t", Token: singleton.FencingToken{Seq: seq}}
}

// add stores the records of a command behind a sum, and returns the sum then.
func (b *book) add(by, first, command, writer, parts uint64, before judge.Sum) judge.Sum {
	for i := range parts {
		r := judge.Record{Command: command, Part: i, Parts: parts, Writer: writer, Before: before}
		b.Stored(hosting(by), e.ID, first+i, r)
		before = before.Next(r)
	}
	return before
}

// Each rule that is broken is complained of, and a sound history is not.
func TestRules(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(b *book)
		want string // empty: nothing is wrong
	}{
		"sound": {func(b *book) {
			b.Fenced(hosting(1))
			q := b.Asks(e, 1, true)
			sum := b.add(1, 1, 1, 1, 2, 0)
			b.Answered(q, judge.Receipt{Command: 1, Seq: 2, Sum: sum})
			b.Saved(e, 2, sum)
			b.Fenced(hosting(2))
			last := b.add(2, 3, 2, 2, 1, sum)
			b.Deleted(e, 2)
			b.Answered(b.Asks(e, 3, false), judge.Receipt{Command: 3, Seq: 3, Sum: last})
			b.End(e, 2, []judge.Record{{Command: 2, Parts: 1, Writer: 2, Before: sum}})
			b.Last(e, 3, last)
		}, ""},
		"gap":        {func(b *book) { b.add(1, 2, 1, 1, 1, 0) }, "one history"},
		"same again": {func(b *book) { b.add(1, 1, 2, 1, 1, b.add(1, 1, 1, 1, 1, 0)) }, "one history"},
		"other past": {func(b *book) { b.add(1, 2, 2, 1, 1, b.add(1, 1, 1, 1, 1, 0)+1) }, "one history"},
		"two writers": {func(b *book) {
			b.add(1, 3, 3, 1, 1, b.add(1, 2, 2, 2, 1, b.add(1, 1, 1, 1, 1, 0)))
		}, "one history"},
		"twice":      {func(b *book) { b.add(1, 2, 1, 1, 1, b.add(1, 1, 1, 1, 1, 0)) }, "stored once"},
		"elsewhere":  {func(b *book) { b.add(1, 1, 1, 1, 1, 0); b.Stored(hosting(1), "f", 1, one) }, "stored once"},
		"half":       {func(b *book) { b.add(1, 2, 2, 1, 1, b.part(0)) }, "a write is stored whole"},
		"other part": {func(b *book) { b.part(1) }, "a write is stored whole"},
		"deposed":    {func(b *book) { b.Fenced(hosting(2)); b.add(1, 1, 1, 1, 1, 0) }, "no write after the fence"},
		"too early": {func(b *book) {
			b.Replies(e, judge.Receipt{Command: 1, Seq: 1, Sum: judge.Sum(0).Next(one)}, true)
		}, "replies come after commits"},
		"of another": {func(b *book) {
			b.Replies(e, judge.Receipt{Command: 2, Seq: 1, Sum: b.add(1, 1, 1, 1, 1, 0)}, true)
		}, "replies come after commits"},
		"of none": {func(b *book) { b.Replies(e, judge.Receipt{Command: 2}, true) }, "replies come after commits"},
		"other sum": {func(b *book) {
			b.Replies(e, judge.Receipt{Command: 2, Seq: 1, Sum: 1 + b.add(1, 1, 1, 1, 1, 0)}, false)
		}, "a reply is the fold of its history"},
		"other question": {func(b *book) {
			b.Answered(b.Asks(e, 2, false), judge.Receipt{Command: 3})
		}, "an answer is that of its question"},
		"stale": {func(b *book) {
			b.Answered(b.Asks(e, 1, true), judge.Receipt{Command: 1, Seq: 1, Sum: b.add(1, 1, 1, 1, 1, 0)})
			b.Answered(b.Asks(e, 2, false), judge.Receipt{Command: 2})
		}, "nothing acknowledged is missed"},
		"ahead":      {func(b *book) { b.Saved(e, 1, 0) }, "snapshots are of stored events"},
		"other shot": {func(b *book) { b.add(1, 1, 1, 1, 1, 0); b.Saved(e, 1, 1) }, "snapshots are of stored events"},
		"unsaved":    {func(b *book) { b.add(1, 1, 1, 1, 1, 0); b.Deleted(e, 1) }, "a snapshot before a deletion"},
		"lost":       {func(b *book) { b.add(1, 1, 1, 1, 1, 0); b.End(e, 0, nil) }, "one history"},
		"gone":       {func(b *book) { b.add(1, 1, 1, 1, 1, 0); b.End(e, 1, nil) }, "one history"},
		"changed": {func(b *book) {
			b.add(1, 1, 1, 1, 1, 0)
			b.End(e, 0, []judge.Record{{Command: 7}})
		}, "one history"},
		"lost value": {func(b *book) { b.add(1, 1, 1, 1, 1, 0); b.Last(e, 0, 0) }, "one history"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBook()
			c.do(b)
			if c.want == "" && len(b.checks) > 0 || c.want != "" && !slices.Equal(b.checks, []string{c.want}) {
				t.Errorf("complaints %q, want %q", b.checks, c.want)
			}
		})
	}
}

// one is the record of a command that has one.
var one = judge.Record{Command: 1, Parts: 1, Writer: 1}

// part stores one of two parts of a command.
func (b *book) part(n uint64) judge.Sum {
	r := judge.Record{Command: 1, Part: n, Parts: 2, Writer: 1}
	b.Stored(hosting(1), e.ID, 1, r)
	return judge.Sum(0).Next(r)
}

// A receipt of what was acknowledged while a question was under way may know more, and need not.
func TestQuestionsOverlap(t *testing.T) {
	b := newBook()
	early := b.Asks(e, 2, false)
	b.Answered(b.Asks(e, 1, true), judge.Receipt{Command: 1, Seq: 1, Sum: b.add(1, 1, 1, 1, 1, 0)})
	b.Answered(early, judge.Receipt{Command: 2})
	if len(b.checks) > 0 {
		t.Errorf("complaints %q", b.checks)
	}
}
