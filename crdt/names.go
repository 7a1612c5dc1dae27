package crdt

import (
	"github.com/coterie-go/coterie/crdt/digest"
	"github.com/coterie-go/coterie/crdt/dots"
)

// Names of events and sets of them, see package dots.
type (
	// Origin is the id of one incarnation of a process.
	Origin = dots.Origin
	// Dot names one event: the Seq-th of its Origin.
	Dot = dots.Dot
	// Clock is a set of dots.
	Clock = dots.Clock
	// Range is a run of consecutive dots.
	Range = dots.Range
)

// Digest is the sum of the keyed hashes of live items, see package digest.
type Digest = digest.Digest

// Bounds of the numbers in dots, see package dots.
const (
	SeqMax   = dots.SeqMax
	MovesMax = dots.MovesMax
)
