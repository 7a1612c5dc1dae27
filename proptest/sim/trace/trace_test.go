package trace_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/proptest/sim/trace"
)

type subject string

func (s subject) String() string { return string(s) }

// TestOrderMatters: two stories with the same events in another order have different hashes.
func TestOrderMatters(t *testing.T) {
	var a, b, c trace.Hash
	a.Fold(1, 2)
	b.Fold(2, 1)
	c.Fold(1)
	c.Fold(2)
	if a == b || a != c {
		t.Errorf("%x, %x, %x", a, b, c)
	}
	a.FoldBytes([]byte("x"))
	if c.FoldBytes([]byte("y")); a == c {
		t.Error("bytes do not matter")
	}
}

// TestLines are printed with their time, and only when watched. The last ones are those of a Tail.
func TestLines(t *testing.T) {
	var out, last strings.Builder
	now := int64(1_500_000_000)
	tail := trace.NewTail(1)
	watched := trace.New(trace.Watchers{trace.NewPrinter(&out), tail}, &now)
	blind := trace.New(nil, &now)
	watched.Line(subject("n0/2"), "zero")
	watched.Line(subject("world"), "%s", trace.Prefixed("-> ", "one\ntwo\n"))
	watched.Record(subject("n0/2"), story.Record{Kind: story.Sent, Text: "which steps show"})
	if blind.Line(subject("world"), "three"); blind.Watching() || watched.Hash != 0 {
		t.Error("a line changes the story")
	}
	want := "    1.500000 world      -> one\n    1.500000 world      -> two\n"
	if out.String() != "    1.500000 n0/2       zero\n"+want {
		t.Errorf("%q", out.String())
	}
	if tail.Print(&last); last.String() != want {
		t.Errorf("%q", last.String())
	}
}

// TestRecords have their kind, their lane and what they are about.
func TestRecords(t *testing.T) {
	log, now := story.NewLog(0), int64(7)
	tr := trace.New(log, &now)
	tr.Fault(subject("world"), "CHAOS %d", 1)
	tr.Note(subject("n3/2"), "OPERATOR")
	tr.Entity(subject("n3/2"), "T0", "x1", "HANDLES %v", "m")
	want := []story.Record{
		{Time: 7, Kind: story.Fault, Text: "CHAOS 1"},
		{Time: 7, Kind: story.Note, Node: "n3", Incarnation: "2", Text: "OPERATOR"},
		{Time: 7, Node: "n3", Incarnation: "2", Type: "T0", ID: "x1", Text: "HANDLES m"},
	}
	if got := log.Records(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
