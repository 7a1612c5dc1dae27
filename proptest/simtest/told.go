package simtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/trace"
	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// told is what has happened in a world, for people. It begins when the cluster has formed.
type told struct {
	w     workload.World
	trace *trace.Trace
	lines []string
}

// tell adds a line.
func (s *told) tell(format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf("%10v  %s",
		time.Duration(s.w.Now()-int64(workload.Forms)).Round(time.Microsecond), fmt.Sprintf(format, args...)))
	s.trace.Note(s.w, format, args...)
}

// tellFaults tells of the faults of a script as they happen.
func (s *told) tellFaults(faults []workload.Harm) {
	for _, f := range faults {
		s.w.After(workload.Forms+f.At, nil, func() { s.tell("%v", f) })
	}
}

func (s *told) String() string { return strings.Join(s.lines, "\n") }
