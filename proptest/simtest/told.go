package simtest

import (
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// told is what has happened in a world, for people.
type told struct {
	begins int64
	lines  []string
}

// tell adds a line.
func (s *told) tell(now int64, format string, args ...any) {
	s.lines = append(s.lines, fmt.Sprintf("%10v  %s", time.Duration(now-s.begins).Round(time.Microsecond),
		fmt.Sprintf(format, args...)))
}

func (s *told) String() string { return strings.Join(s.lines, "\n") }

// beginning is the story of a world whose cluster has formed.
func beginning() told { return told{begins: int64(workload.Forms)} }
