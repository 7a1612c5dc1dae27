package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// difference is which of the dots that both clocks have are alive on one side only. Three ways lead
// to it, each tried when the one before has failed: a sketch; a sketch with another key; the
// comparison of runs of dots. When the last result does not add up either, all items are fetched.
type difference struct {
	way    way
	found  bool
	within *crdt.Clock // the dots that both clocks have
	gone   []crdt.Dot  // alive here, removed there
	kept   []crdt.Dot  // alive there, removed here
	sketch sketching
	ranges ranging
}

type way uint8

const (
	byKeptSketch way = iota // key 0: a prefix of it is kept current
	byFreshSketch
	byRanges
)

// beginDiff begins to look for the difference, the first way.
func (s *space) beginDiff() {
	d := &s.pull.diff
	d.within = s.pull.clock.And(s.pull.asked)
	if d.within.Empty() {
		d.found = true
		return
	}
	s.beginSketch(0)
}

// nextWay gives up the way that has failed.
func (s *space) nextWay() {
	d := &s.pull.diff
	d.found, d.gone, d.kept = false, nil, nil
	if d.way++; d.way == byFreshSketch {
		s.beginSketch(s.m.rng.Uint64() | 1)
	} else {
		s.beginRanges()
	}
}

// goByRanges leaves the sketches out: the stores differ in so much that naming what is alive costs
// less.
func (s *space) goByRanges() {
	s.pull.diff.way = byRanges
	s.beginRanges()
}

func (s *space) driveDiff() {
	d := &s.pull.diff
	switch {
	case d.found:
	case d.way == byRanges:
		s.driveRanges()
	default:
		s.driveSketch()
	}
}

// foundDiff ends the search. A repair by union then fetches what was lost here.
func (s *space) foundDiff() {
	p := s.pull
	d := &p.diff
	d.found = true
	d.sketch, d.ranges = sketching{}, ranging{}
	slices.SortFunc(d.gone, crdt.Dot.Compare)
	slices.SortFunc(d.kept, crdt.Dot.Compare)
	p.sums = digestCheck{}
	if p.union {
		p.fetch.enqueue(clockOf(d.kept), true)
	} else {
		p.sums.rest = clockOf(d.kept)
	}
}

// clockOf makes a clock of sorted dots.
func clockOf(dots []crdt.Dot) *crdt.Clock {
	c := &crdt.Clock{}
	for _, d := range dots {
		c.Add(d)
	}
	return c
}
