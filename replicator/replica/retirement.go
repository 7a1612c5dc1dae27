package replica

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Retirement names incarnations that are over: all whose origins are below one, except some. The
// zero value names none.
//
// It is right for a view to name them if no member has such an origin, and no node that has one is
// let in any more.
type Retirement struct {
	Below  crdt.Origin
	Spared []crdt.Origin // sorted, below Below
	Moves  uint16        // the number of the last move that was begun before
}

// Empty reports whether it names none.
func (t Retirement) Empty() bool { return t.Below == 0 }

// Equal reports whether both name the same.
func (t Retirement) Equal(o Retirement) bool {
	return t.Below == o.Below && t.Moves == o.Moves && slices.Equal(t.Spared, o.Spared)
}

// Names reports whether an origin is over.
func (t Retirement) Names(o crdt.Origin) bool {
	_, spared := slices.BinarySearch(t.Spared, o)
	return o < t.Below && !spared
}

// Clock returns all dots of the origins, in one of the spaces.
func (t Retirement) Clock(s keyspace.Space) *crdt.Clock {
	moves := t.Moves
	if s == keyspace.Volatile {
		moves = 0 // nothing moves there
	}
	c, from := &crdt.Clock{}, crdt.Origin(0)
	for _, o := range t.Spared {
		if o > from {
			c.Close(from, o-1, moves)
		}
		from = o + 1
	}
	if from < t.Below {
		c.Close(from, t.Below-1, moves)
	}
	return c
}

// String prints it in a few words.
func (t Retirement) String() string {
	return fmt.Sprintf("below %x but %d", uint64(t.Below), len(t.Spared))
}
