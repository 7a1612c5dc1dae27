package history

import (
	"fmt"
	"strings"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
)

// Fate is what has become of a voter, or of its disk. Those further down are the weightier reasons.
type Fate uint8

// What may have become of a voter.
const (
	There   Fate = iota
	Left         // as it should: the others decided a view without it
	Last         // it left, and no other member of its role was there to take over what it had
	Crashed      // its memory is gone
	Dropped      // the others have gone on without it, and it was not leaving
	Absent       // its disk is not among those with which the cluster was founded anew
	Wiped        // its disk was damaged, and its operator has emptied it
	Lied         // its disk has said that it has more than it has
	fates
)

var fateNames = [fates]string{"there", "left", "last", "crashed", "dropped", "absent", "wiped", "lied"}

func (f Fate) String() string { return fateNames[f] }

// Excuses count lost writes by reason: the weightiest of the fates of their witnesses.
type Excuses [fates]uint64

func (x Excuses) String() string {
	var b strings.Builder
	for f, n := range x {
		if n > 0 {
			fmt.Fprintf(&b, "%v:%d ", Fate(f), n)
		}
	}
	return "[" + strings.TrimSuffix(b.String(), " ") + "]"
}

// Add sums the counts of runs.
func (x *Excuses) Add(o Excuses) {
	for f, n := range o {
		x[f] += n
	}
}

// Fact is one update, as the checkers know it.
type Fact struct {
	Dot   crdt.Dot       // of its first event; the others are where that is; zero: it has not happened
	Space keyspace.Space // in which it happened
	Lost  Fate           // why it may be missing; there: it may not
}

// Happen notes of an update that it has happened, with its first event.
func (f *Fact) Happen(space keyspace.Space, first crdt.Dot) { f.Space, f.Dot = space, first }

// Lose notes why the update may be missing.
func (f *Fact) Lose(why Fate) { f.Lost = why }

// mayBeLost reports whether it has happened and is not excused yet.
func (f *Fact) mayBeLost() bool { return f.Dot.Seq != 0 && f.Lost == There }

// Excused reports whether it may be missing.
func (f *Fact) Excused() bool { return f.Lost != There }
