package repair

import "github.com/coterie-go/coterie/crdt"

// difference is which of the dots that both clocks have are alive on one side only. Three ways lead
// to it, each tried when the one before has failed: a sketch; a sketch with another key; the
// comparison of runs of dots. When the last result does not add up either, all items are fetched.
type difference struct {
	env    *Env
	q      *questions
	donor  crdt.Origin
	own    *crdt.Pinned
	theirs uint64 // items that the donor has

	way    way
	found  bool
	within *crdt.Clock  // the dots that both clocks have
	gone   [][]crdt.Dot // alive here, removed there; in batches, each sorted
	kept   [][]crdt.Dot // alive there, removed here; likewise
	sketch sketching
	ranges ranging
}

type way uint8

const (
	byKeptSketch way = iota // key 0: a prefix of it is kept current
	byFreshSketch
	byRanges
)

// begin begins to look for the difference, the first way.
func (d *difference) begin() {
	if d.within.Empty() {
		d.found = true
		return
	}
	d.beginSketch(0)
}

// nextWay gives up the way that has failed.
func (d *difference) nextWay() {
	d.found, d.gone, d.kept = false, nil, nil
	if d.way++; d.way == byFreshSketch {
		d.beginSketch(d.env.Rand.Uint64() | 1)
	} else {
		d.beginRanges()
	}
}

// goByRanges leaves the sketches out: the stores differ in so much that naming what is alive costs
// less.
func (d *difference) goByRanges() {
	d.way = byRanges
	d.beginRanges()
}

// drive does what can be done now, and reports whether there is more to do that waits for no
// answer.
func (d *difference) drive() (busy bool) {
	switch {
	case d.found:
		return false
	case d.way == byRanges:
		return d.driveRanges()
	}
	return d.driveSketch()
}

// end ends the search.
func (d *difference) end() {
	d.found = true
	d.sketch, d.ranges = sketching{}, ranging{}
}

// note enters what was found.
func (d *difference) note(gone, kept []crdt.Dot) {
	if len(gone) > 0 {
		d.gone = append(d.gone, gone)
	}
	if len(kept) > 0 {
		d.kept = append(d.kept, kept)
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
