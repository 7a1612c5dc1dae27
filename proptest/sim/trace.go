package sim

import (
	"fmt"
	"io"
	"strings"

	"github.com/zeebo/xxh3"
)

// trace folds everything that happens into one hash, and prints it when somebody watches. Two runs
// of a seed must end with the same hash; where they do not, something read a clock, a map's order
// or a global generator.
type trace struct {
	w    io.Writer // nil: nothing watches
	from int64     // virtual time from which to print
	hash uint64
	now  *int64
}

// fold adds numbers to the hash.
func (t *trace) fold(xs ...uint64) {
	for _, x := range xs {
		t.hash = mix(t.hash*0x9e3779b97f4a7c15 + x)
	}
}

func (t *trace) foldBytes(b []byte) { t.fold(xxh3.Hash(b)) }

func (t *trace) watching() bool { return t.w != nil && *t.now >= t.from }

// line prints when watched. Callers whose arguments cost something ask watching first.
func (t *trace) line(who fmt.Stringer, format string, args ...any) {
	if t.watching() {
		fmt.Fprintf(t.w, "%12.6f %-10v %s\n", float64(*t.now)/1e9, who, fmt.Sprintf(format, args...))
	}
}

// lines prints a text line by line, each with a prefix.
func (t *trace) lines(who fmt.Stringer, prefix, text string) {
	for line := range strings.Lines(text) {
		t.line(who, "%s%s", prefix, strings.TrimSuffix(line, "\n"))
	}
}
