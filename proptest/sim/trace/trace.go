package trace

import (
	"fmt"
	"io"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// Hash is a hash of numbers in their order.
type Hash uint64

// Fold adds numbers to the hash.
func (h *Hash) Fold(xs ...uint64) {
	for _, x := range xs {
		*h = Hash(random.Mix(uint64(*h)*0x9e3779b97f4a7c15 + x))
	}
}

// FoldBytes adds bytes to the hash, as one number.
func (h *Hash) FoldBytes(b []byte) { h.Fold(xxh3.Hash(b)) }

// Trace is the story of one world.
type Trace struct {
	Hash
	out io.Writer // nil: nothing watches
	now *int64
}

// New begins the story of a world whose true time is at now. It is printed to out; nil: nowhere.
func New(out io.Writer, now *int64) Trace { return Trace{out: out, now: now} }

// Watching reports whether lines are printed.
func (t *Trace) Watching() bool { return t.out != nil }

// Line prints when watched. Callers whose arguments cost something ask Watching first.
func (t *Trace) Line(subject fmt.Stringer, format string, args ...any) {
	if t.Watching() {
		fmt.Fprintf(t.out, "%12.6f %-10v %s\n", float64(*t.now)/1e9, subject, fmt.Sprintf(format, args...))
	}
}

// Lines prints a text line by line, each with a prefix.
func (t *Trace) Lines(subject fmt.Stringer, prefix, text string) {
	for line := range strings.Lines(text) {
		t.Line(subject, "%s%s", prefix, strings.TrimSuffix(line, "\n"))
	}
}
