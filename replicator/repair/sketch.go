package repair

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/crdt/iblt"
)

// sketching is the search for the difference by the sketches of both sides. The donor sends cells
// of its sketch. If they do not decode, this replica asks for more. It estimates how many from the
// blank cells among the last ones. Without an estimate, it asks for one and a half times as many as
// have come.
type sketching struct {
	key    uint64
	finder *crdt.DotFinder
	own    *crdt.Sketcher
	dec    *iblt.Decoder
	theirs []iblt.Cell       // came and not compared yet
	wanted int               // cells asked for, all in all
	seen   map[crdt.Dot]bool // what the numbers have been turned into
}

// FirstCells is how many cells the donor sends without being asked: enough for some 30 differences.
const FirstCells = 64

// Sizes of sketches.
const (
	leastCells = 1 << 10 // of a sketch that is made; making one is mostly the walk over the items
	peelMost   = 1 << 12 // differences taken out of a sketch in one step
	namesFrom  = 1 << 10 // differences for which names can cost less than cells
)

// sketchSize rounds up the number of cells to make.
func sketchSize(cells int) int {
	n := leastCells
	for n < cells {
		n *= 2
	}
	return n
}

// have is how many cells have come.
func (k *sketching) have() int { return k.dec.Len() + len(k.theirs) }

// beginSketch begins with the n-th key. The first cells of key 0 come without being asked for.
func (d *difference) beginSketch(n uint64) {
	k := &d.sketch
	*k = sketching{key: n, finder: d.own.Finder(n, d.within), wanted: FirstCells}
	k.dec = iblt.NewDecoder(k.finder.Key(), func(id uint64) bool {
		_, ok := k.finder.Find(id)
		return ok
	})
	d.sizeSketch(FirstCells)
	if n != 0 {
		d.askCells()
	}
}

// sizeSketch begins to make the own sketch, of so many cells at least.
func (d *difference) sizeSketch(cells int) {
	d.sketch.own = d.own.Sketcher(d.sketch.key, sketchSize(cells), d.within)
}

// askCells asks for those cells that are missing of what is wanted.
func (d *difference) askCells() {
	k := &d.sketch
	d.env.Line.MoreCells(d.donor, d.q.session, k.key, uint32(k.have()), uint32(k.wanted-k.have()))
}

// askAgain asks for cells that have not come.
func (d *difference) askAgain() {
	if !d.found && d.way != byRanges && d.sketch.have() < d.sketch.wanted {
		d.askCells()
	}
}

// addCells takes the next cells of the donor's sketch, and reports whether they are.
func (d *difference) addCells(c Cells) bool {
	if d.found || d.way == byRanges {
		return false
	}
	k := &d.sketch
	if have := k.have(); c.Key != k.key || int(c.From) != have || len(c.Cells) > k.wanted-have || len(c.Cells) == 0 {
		return false // twice, or after one that was lost, or more than was asked for
	}
	*d.env.SketchCells += uint64(len(c.Cells))
	k.theirs = append(k.theirs, c.Cells...)
	return true
}

// driveSketch makes the own sketch, compares, decodes, and asks for more.
func (d *difference) driveSketch() (busy bool) {
	k := &d.sketch
	if !k.own.Work(WorkItems) {
		return true
	}
	mine := k.own.Cells()[min(k.dec.Len(), len(k.own.Cells())):]
	n := min(len(k.theirs), len(mine))
	k.dec.Add(mine[:n], k.theirs[:n])
	k.theirs = k.theirs[n:]
	switch {
	case k.dec.Peel(peelMost):
		return true
	case k.dec.Done():
		return d.readSketch()
	case k.dec.Bad():
		return d.failSketch()
	case len(k.theirs) > 0:
		d.sizeSketch(k.have())
		return true
	case k.dec.Len() == k.wanted:
		return d.growSketch()
	}
	return false
}

// growSketch asks for more cells, unless it is better to stop.
func (d *difference) growSketch() (busy bool) {
	k := &d.sketch
	have := k.dec.Len()
	want := 5 * have / 2 // too many to tell how many
	if n, ok := k.dec.Estimate(); ok {
		if n > namesFrom && uint64(n) > (d.theirs+uint64(d.own.Len()))/8 {
			d.goByRanges() // an eighth of all: then names cost less than cells, and so does making them
			return true
		}
		want = max(n+n/2+16, have+have/4)
	}
	if have >= d.env.SketchMax {
		return d.failSketch()
	}
	k.wanted = min(want, d.env.SketchMax)
	d.askCells()
	return false
}

// readSketch turns some of the numbers back into dots, and reports whether there are more.
func (d *difference) readSketch() (busy bool) {
	k := &d.sketch
	if k.seen == nil {
		k.seen = map[crdt.Dot]bool{}
	}
	var gone, kept []crdt.Dot
	found := k.dec.Found()[len(k.seen):]
	for _, id := range found[:min(len(found), peelMost)] {
		dot, ok := k.finder.Find(id)
		if !ok || k.seen[dot] {
			return d.failSketch()
		}
		k.seen[dot] = true
		if d.own.Live(dot) {
			gone = append(gone, dot)
		} else {
			kept = append(kept, dot)
		}
	}
	slices.SortFunc(gone, crdt.Dot.Compare)
	slices.SortFunc(kept, crdt.Dot.Compare)
	if d.note(gone, kept); len(found) > peelMost {
		return true
	}
	d.end()
	return false
}

// failSketch goes another way.
func (d *difference) failSketch() (busy bool) {
	*d.env.SketchesFailed++
	d.nextWay()
	return true
}
