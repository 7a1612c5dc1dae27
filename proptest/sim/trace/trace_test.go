package trace_test

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/proptest/sim/trace"
)

type subject struct{}

func (subject) String() string { return "world" }

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

// TestLines are printed with their time, and only when watched.
func TestLines(t *testing.T) {
	var out strings.Builder
	now := int64(1_500_000_000)
	watched, blind := trace.New(&out, &now), trace.New(nil, &now)
	watched.Lines(subject{}, "-> ", "one\ntwo\n")
	if blind.Line(subject{}, "three"); blind.Watching() || watched.Hash != 0 {
		t.Error("a line changes the story")
	}
	if want := "    1.500000 world      -> one\n    1.500000 world      -> two\n"; out.String() != want {
		t.Errorf("%q", out.String())
	}
}
