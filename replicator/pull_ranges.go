package replicator

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// ranging is the search for the difference by runs of dots: the sums of what is alive in each are
// compared, and where they differ, the donor names what is alive. It costs a walk over the items on
// both sides, some 20 bytes per run, and the names in the runs that differ, which is little when
// most do. Nothing is hashed together, so that it cannot fail by chance.
type ranging struct {
	rest   *crdt.Clock   // dots not compared yet
	differ []*crdt.Clock // whose names have not been asked for
}

// Sizes of the runs that are compared.
const (
	runItems = 256 // of this replica in one run
	askRuns  = 64  // in one question
)

func (s *space) beginRanges() {
	s.m.stats.RangeRepairs++
	s.pull.diff.sketch = sketching{}
	s.pull.diff.ranges = ranging{rest: s.pull.diff.within}
}

// driveRanges asks for the sums of the next runs, and for the names in those that differ.
func (s *space) driveRanges() {
	p := s.pull
	r := &p.diff.ranges
	for len(r.differ) > 0 && s.mayPull(p.from) {
		s.sendAsk(s.ask(p.from, aimDiffNames, r.differ[0]))
		r.differ = slices.Delete(r.differ, 0, 1)
	}
	if !r.rest.Empty() && s.mayPull(p.from) {
		s.askSums()
		p.busy = !r.rest.Empty() && s.mayPull(p.from)
	}
	if r.rest.Empty() && len(r.differ) == 0 && !p.asking(aimDiffSums, aimDiffNames) {
		s.foundDiff()
	}
}

func (s *space) askSums() {
	p := s.pull
	r := &p.diff.ranges
	dots, rest := r.rest.CutBytes(s.m.cfg.FrameMax / 2)
	sizes, sums, last := p.own.Buckets(dots, runItems, askRuns)
	if last != (crdt.Dot{}) {
		rest.Join(dots.After(last))
		dots = dots.UpTo(last)
	}
	r.rest = rest
	a := s.ask(p.from, aimDiffSums, dots)
	a.sizes, a.sums = sizes, sums
	s.sendAsk(a)
}

// compareSums notes the runs that differ and reports whether the answer fits the question.
func (d *difference) compareSums(a *ask, sums []crdt.Digest) bool {
	if len(sums) != len(a.sums) {
		return false
	}
	differ := &crdt.Clock{}
	for i, run := range a.dots.Split(a.sizes) {
		if sums[i] != a.sums[i] {
			differ.Join(run)
		}
	}
	if !differ.Empty() {
		d.ranges.differ = append(d.ranges.differ, differ)
	}
	return true
}

// compareNames notes what is alive on one side only among dots, and what is still to be named.
func (s *space) compareNames(dots, names, rest *crdt.Clock) {
	p := s.pull
	d := &p.diff
	for it := range p.own.In(dots, crdt.Dot{}) {
		if !names.Has(it.Dot) {
			d.gone = append(d.gone, it.Dot)
		}
	}
	for r := range names.Ranges() {
		for seq := r.First; ; seq++ {
			if dot := (crdt.Dot{Origin: r.Origin, Seq: seq}); !p.own.Live(dot) {
				d.kept = append(d.kept, dot)
			}
			if seq == r.Last {
				break
			}
		}
	}
	if rest != nil {
		d.ranges.differ = append(d.ranges.differ, rest)
	}
}
