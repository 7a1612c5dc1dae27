package replicator

import (
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
	theirs []iblt.Cell // came and not compared yet
	wanted int         // cells asked for, all in all
}

// Sizes of sketches.
const (
	firstCells = 64      // that the donor sends without being asked: enough for some 30 differences
	leastCells = 1 << 10 // of a sketch that is made; making one is mostly the walk over the items
	peelMost   = 1 << 13 // differences taken out of a sketch in one step
)

// beginSketch begins with the n-th key. The first cells of key 0 come without being asked for.
func (s *space) beginSketch(n uint64) {
	p := s.pull
	k := &p.diff.sketch
	*k = sketching{key: n, finder: p.own.Finder(n, p.diff.within), wanted: firstCells}
	k.dec = iblt.NewDecoder(k.finder.Key(), func(id uint64) bool {
		_, ok := k.finder.Find(id)
		return ok
	})
	s.sizeSketch(firstCells)
	if n != 0 {
		s.askCells()
	}
}

// sizeSketch begins to make the own sketch, of so many cells at least.
func (s *space) sizeSketch(cells int) {
	k := &s.pull.diff.sketch
	k.own = s.pull.own.Sketcher(k.key, sketchSize(cells), s.pull.diff.within)
}

// sketchSize rounds up the number of cells to make.
func sketchSize(cells int) int {
	n := leastCells
	for n < cells {
		n *= 2
	}
	return n
}

// askCells asks for those cells that are missing of what is wanted.
func (s *space) askCells() {
	k := &s.pull.diff.sketch
	from := k.dec.Len() + len(k.theirs)
	s.m.send(s.pull.from, Prompt, &MoreCells{
		Epoch: s.m.view.Epoch, Space: s.id, Session: s.pull.session, Key: k.key, From: uint32(from), Count: uint32(k.wanted - from),
	})
}

// askCellsAgain asks for cells that have not come.
func (s *space) askCellsAgain() {
	d := &s.pull.diff
	if !d.found && d.way != byRanges && d.sketch.dec.Len()+len(d.sketch.theirs) < d.sketch.wanted {
		s.askCells()
	}
}

// onCells takes the next cells of the donor's sketch.
func (s *space) onCells(from *peer, msg *Cells) {
	p := s.pull
	if !p.is(from, msg.Session) || p.clock == nil || p.diff.found || p.diff.way == byRanges {
		return
	}
	k := &p.diff.sketch
	if have := k.dec.Len() + len(k.theirs); msg.Key != k.key || int(msg.From) != have || len(msg.Cells) > k.wanted-have || len(msg.Cells) == 0 {
		return // twice, or after one that was lost, or more than was asked for
	}
	s.m.stats.SketchCells += uint64(len(msg.Cells))
	k.theirs = append(k.theirs, msg.Cells...)
	s.progress()
}

// driveSketch makes the own sketch, compares, decodes, and asks for more.
func (s *space) driveSketch() {
	p := s.pull
	k := &p.diff.sketch
	if !k.own.Work(workItems) {
		p.busy = true
		return
	}
	mine := k.own.Cells()[min(k.dec.Len(), len(k.own.Cells())):]
	n := min(len(k.theirs), len(mine))
	k.dec.Add(mine[:n], k.theirs[:n])
	k.theirs = k.theirs[n:]
	switch {
	case k.dec.Peel(peelMost):
		p.busy = true
	case k.dec.Done():
		s.readSketch()
	case k.dec.Bad():
		s.failSketch()
	case len(k.theirs) > 0:
		s.sizeSketch(k.dec.Len() + len(k.theirs))
		p.busy = true
	case k.dec.Len() == k.wanted:
		s.growSketch()
	}
}

// growSketch asks for more cells, unless it is better to stop.
func (s *space) growSketch() {
	p := s.pull
	k := &p.diff.sketch
	have := k.dec.Len()
	want := 5 * have / 2 // too many to tell how many
	if n, ok := k.dec.Estimate(); ok {
		if n > workItems/16 && uint64(n) > (p.items+uint64(p.own.Len()))/8 {
			s.goByRanges() // an eighth of all: then names cost less than cells, and so does making them
			return
		}
		want = max(n+n/2+16, have+have/4)
	}
	if have >= s.m.cfg.SketchMax {
		s.failSketch()
		return
	}
	k.wanted = min(want, s.m.cfg.SketchMax)
	s.askCells()
}

// readSketch turns the numbers back into dots.
func (s *space) readSketch() {
	p := s.pull
	k := &p.diff.sketch
	seen := make(map[crdt.Dot]bool, len(k.dec.Found()))
	for _, id := range k.dec.Found() {
		d, ok := k.finder.Find(id)
		if !ok || seen[d] {
			s.failSketch()
			return
		}
		seen[d] = true
		if p.own.Live(d) {
			p.diff.gone = append(p.diff.gone, d)
		} else {
			p.diff.kept = append(p.diff.kept, d)
		}
	}
	s.foundDiff()
}

// failSketch goes another way.
func (s *space) failSketch() {
	s.m.stats.SketchesFailed++
	s.nextWay()
	s.pull.busy = true
}
