package quorum

import "fmt"

// Level says how many replicas a write or a read must reach before it is answered. The same
// arithmetic serves both. The zero Level is Local. Levels are made by the constants and functions
// of this file and compare with ==.
type Level uint64

// A Level is its kind and two numbers: of To the replicas, the own one included; of MajorityPlus
// how many more than a majority, and the least number of replicas.
const (
	levelBits = 24
	levelMax  = 1<<levelBits - 1

	exactly      = 1
	majority     = 2
	majorityPlus = 3
	all          = 4
	linearizable = 5
)

// Levels without a parameter.
const (
	Local    Level = 0                           // the own replica; for a durable key its committed state
	Majority Level = majority << (2 * levelBits) // more than half of the voters
	All      Level = all << (2 * levelBits)      // every voter

	// Linearizable is for reads: a majority, which must agree on the state of the key.
	Linearizable Level = linearizable << (2 * levelBits)
)

func newLevel(kind uint64, n, least int) Level {
	number := func(n int) uint64 { return uint64(min(max(0, n), levelMax)) }
	return Level(kind<<(2*levelBits) | number(n)<<levelBits | number(least))
}

func (l Level) kind() uint64 { return uint64(l >> (2 * levelBits)) }
func (l Level) n() int       { return int(l >> levelBits & levelMax) }
func (l Level) least() int   { return int(l & levelMax) }

// To asks for n replicas, the own one included. One is Local; less is no level, and an operation at
// it fails with ErrLevel.
func To(n int) Level {
	if n == 1 {
		return Local
	}
	return newLevel(exactly, n, 0)
}

// MajorityPlus asks for a majority and k more, for at least atLeast, and for at most all voters.
// Numbers below zero count as zero: it never asks for less than a majority.
func MajorityPlus(k, atLeast int) Level { return newLevel(majorityPlus, k, atLeast) }

// Valid reports whether the level asks for anything.
func (l Level) Valid() bool { return l.kind() <= linearizable && (l.kind() != exactly || l.n() > 0) }

// Need returns how many of n voters the level asks for, the own one included. Only To can ask for
// more than n, except that no level is content with none: a view without voters keeps nothing.
func (l Level) Need(n int) int {
	switch l.kind() {
	case exactly:
		return l.n()
	case majority, linearizable:
		return MajorityOf(n)
	case majorityPlus:
		return max(1, min(n, max(MajorityOf(n)+l.n(), l.least())))
	case all:
		return max(1, n)
	}
	return 1
}

// String prints the level as its constructor reads.
func (l Level) String() string {
	switch l.kind() {
	case exactly:
		if l.n() == 0 {
			return "To(less than 1)"
		}
		return fmt.Sprintf("To(%d)", l.n())
	case majority:
		return "Majority"
	case majorityPlus:
		return fmt.Sprintf("MajorityPlus(%d,%d)", l.n(), l.least())
	case all:
		return "All"
	case linearizable:
		return "Linearizable"
	}
	return "Local"
}

// MajorityOf is the least number of n such that any two choices of that many have one in common.
func MajorityOf(n int) int { return n/2 + 1 }
