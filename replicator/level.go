package replicator

import "fmt"

// Level says how many replicas a write or a read must reach before it is answered. The same arithmetic serves both.
// The zero Level is Local.
type Level struct {
	kind  levelKind
	n     int // of To: replicas, the own one included; of MajorityPlus: how many more than a majority
	atMin int // of MajorityPlus: the least number of replicas
}

type levelKind uint8

const (
	local levelKind = iota
	exactly
	majority
	majorityPlus
	all
)

// Levels without a parameter.
var (
	Local    = Level{}               // the own replica; for a durable key its committed state
	Majority = Level{kind: majority} // more than half of the voters
	All      = Level{kind: all}      // every voter
)

// To asks for n replicas, the own one included. One is Local.
func To(n int) Level {
	if n <= 1 {
		return Local
	}
	return Level{kind: exactly, n: n}
}

// MajorityPlus asks for a majority and k more, for at least atLeast, and for at most all voters.
func MajorityPlus(k, atLeast int) Level {
	return Level{kind: majorityPlus, n: max(0, k), atMin: max(0, atLeast)}
}

// Need returns how many of n voters the level asks for, the own one included. Only To can ask for more than n.
func (l Level) Need(n int) int {
	switch l.kind {
	case exactly:
		return l.n
	case majority:
		return quorumOf(n)
	case majorityPlus:
		return min(n, max(quorumOf(n)+l.n, l.atMin))
	case all:
		return n
	}
	return 1
}

// quorumOf is the least number of n such that any two choices of that many have one in common.
func quorumOf(n int) int { return n/2 + 1 }

// String prints the level as its constructor reads.
func (l Level) String() string {
	switch l.kind {
	case exactly:
		return fmt.Sprintf("To(%d)", l.n)
	case majority:
		return "Majority"
	case majorityPlus:
		return fmt.Sprintf("MajorityPlus(%d,%d)", l.n, l.atMin)
	case all:
		return "All"
	}
	return "Local"
}
