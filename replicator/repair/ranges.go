package repair

import (
	"slices"

	"github.com/coterie-go/coterie/crdt"
)

// ranging is the search for the difference by runs of dots: the sums of what is alive in each are
// compared, and where they differ, the donor names what is alive. It costs a walk over the items on
// both sides, some 20 bytes per run, and the names in the runs that differ, which is little when
// most do. What lives of origins that are over is named without a comparison. Nothing is hashed
// together, so that it cannot fail by chance.
type ranging struct {
	rest   *crdt.Clock   // dots not compared yet
	differ []*crdt.Clock // whose names have not been asked for
}

// Sizes of the runs that are compared.
const (
	runItems = 256 // of this replica in one run
	askRuns  = 64  // in one question
)

func (d *difference) beginRanges() {
	*d.env.RangeRepairs++
	d.sketch = sketching{}
	single, closed := d.within.Parted()
	d.ranges = ranging{rest: single}
	if !closed.Empty() {
		d.ranges.differ = append(d.ranges.differ, closed) // their dots cannot be counted, so no runs of them be cut
	}
}

// driveRanges asks for the sums of the next runs, and for the names in those that differ.
func (d *difference) driveRanges() (busy bool) {
	r := &d.ranges
	for len(r.differ) > 0 && d.q.room(d.donor) {
		d.q.ask(d.donor, aimDiffNames, r.differ[0], nil, nil)
		r.differ = slices.Delete(r.differ, 0, 1)
	}
	if !r.rest.Empty() && d.q.room(d.donor) {
		d.askSums()
		busy = !r.rest.Empty() && d.q.room(d.donor)
	}
	if r.rest.Empty() && len(r.differ) == 0 && !d.q.asking(aimDiffSums, aimDiffNames) {
		d.end()
	}
	return busy
}

func (d *difference) askSums() {
	r := &d.ranges
	dots, rest := r.rest.CutBytes(d.env.FrameMax / 2)
	sizes, sums, last := d.own.Buckets(dots, runItems, askRuns)
	if last != (crdt.Dot{}) {
		rest.Join(dots.After(last))
		dots = dots.UpTo(last)
	}
	r.rest = rest
	d.q.ask(d.donor, aimDiffSums, dots, sizes, sums)
}

// compareSums notes the runs that differ and reports whether the answer fits the question.
func (d *difference) compareSums(x *question, sums []crdt.Digest) bool {
	if len(sums) != len(x.sums) {
		return false
	}
	differ := &crdt.Clock{}
	for i, run := range x.dots.Split(x.sizes) {
		if sums[i] != x.sums[i] {
			differ.Join(run)
		}
	}
	if !differ.Empty() {
		d.ranges.differ = append(d.ranges.differ, differ)
	}
	return true
}

// compareNames notes what is alive on one side only among dots, and what is still to be named.
func (d *difference) compareNames(dots, names, rest *crdt.Clock) {
	var gone, kept []crdt.Dot
	for it := range d.own.In(dots, crdt.Dot{}) {
		if !names.Has(it.Dot) {
			gone = append(gone, it.Dot)
		}
	}
	for r := range names.Ranges() {
		for seq := r.First; ; seq++ {
			if dot := (crdt.Dot{Origin: r.Origin, Seq: seq}); !d.own.Live(dot) {
				kept = append(kept, dot)
			}
			if seq == r.Last {
				break
			}
		}
	}
	d.note(gone, kept)
	if rest != nil {
		d.ranges.differ = append(d.ranges.differ, rest)
	}
}
