package dots

import (
	"cmp"
	"fmt"
)

// Origin is the id of one incarnation of a process. It names every event that the incarnation
// makes; a restart takes a new one.
type Origin uint64

func (o Origin) String() string { return fmt.Sprintf("%016x", uint64(o)) }

// Dot names one event: the Seq-th, from 1, of its Origin. A dot is never used twice.
type Dot struct {
	Origin Origin
	Seq    uint64
}

func (d Dot) String() string { return fmt.Sprintf("%016x:%d", uint64(d.Origin), d.Seq) }

// Compare orders dots by origin, then by sequence number.
func (d Dot) Compare(e Dot) int {
	if c := cmp.Compare(d.Origin, e.Origin); c != 0 {
		return c
	}
	return cmp.Compare(d.Seq, e.Seq)
}

// Bounds of the numbers in dots.
const (
	seqBits = 48

	// SeqMax is the highest number of an event: a million events a second for nine years.
	SeqMax = 1<<seqBits - 1

	// MovesMax is how many moves between two stores can be told apart.
	MovesMax = 1<<(64-seqBits) - 1
)

// Moved returns the dot that the item of d has after move number n, which is from 1 to MovesMax.
func (d Dot) Moved(n uint16) Dot { return Dot{d.Origin, uint64(n)<<seqBits | d.Seq} }

// IsMoved reports whether the item of d has come from another store.
func (d Dot) IsMoved() bool { return d.Seq > SeqMax }

// closedTo is the highest number of an origin that is over, after so many moves.
func closedTo(moves uint16) uint64 { return uint64(moves)<<seqBits | SeqMax }

// Range is a run of consecutive dots of one origin, both ends included. If Through is not 0, every
// origin from Origin to Through has the run.
type Range struct {
	Origin      Origin
	First, Last uint64
	Through     Origin
}
