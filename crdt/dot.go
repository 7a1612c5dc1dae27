package crdt

import (
	"cmp"
	"fmt"
)

// Origin is the random id of one incarnation of a process. It names every event that the
// incarnation makes; a restart takes a new one.
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
