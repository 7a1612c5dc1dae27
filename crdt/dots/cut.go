package dots

import (
	"slices"

	"github.com/coterie-go/coterie/crdt/cbor"
)

// After returns a new clock with the dots of c that come after d.
func (c *Clock) After(d Dot) *Clock {
	_, after := cut(c, d)
	return after
}

// UpTo returns a new clock with the dots of c up to d, d included.
func (c *Clock) UpTo(d Dot) *Clock {
	upTo, _ := cut(c, d)
	return upTo
}

// cut returns the dots up to d, and those after it.
func cut(c *Clock, d Dot) (upTo, after *Clock) {
	upTo, after = &Clock{}, &Clock{}
	for i := range c.rows {
		r := &c.rows[i]
		switch o := d.Origin; {
		case r.last < o:
			upTo.rows = upTo.rows.push(r.clone())
		case r.first > o:
			after.rows = after.rows.push(r.clone())
		default:
			if r.first < o {
				upTo.rows = upTo.rows.push(r.of(r.first, o-1))
			}
			before, behind := r.cutAt(o, d.Seq)
			upTo.rows = upTo.rows.push(before)
			after.rows = after.rows.push(behind)
			if o < r.last {
				after.rows = after.rows.push(r.of(o+1, r.last))
			}
		}
	}
	return upTo, after
}

// CutBytes cuts c in two: its first dots, which take about as many bytes as wanted and are at least
// one run, and those behind them. A run of origins that are over stays whole.
func (c *Clock) CutBytes(most int) (first, rest *Clock) {
	var last Dot
	for i := range c.rows {
		r := &c.rows[i]
		for s := range r.runs() {
			if most -= cbor.HeadLen(uint64(r.first)) + 2*cbor.HeadLen(s.last); most < 0 && last != (Dot{}) {
				return cut(c, last)
			}
			if r.Wide() {
				last = Dot{r.last, r.max()}
				break
			}
			last = Dot{r.last, s.last}
		}
	}
	return c, &Clock{}
}

// Split cuts c into runs of so many dots each, and a last one with what remains. Where c ends
// before, the rest are empty. c has no run of origins that are over (Parted).
func (c *Clock) Split(sizes []uint64) []*Clock {
	sizes = slices.Clone(sizes)
	out := make([]*Clock, 1, len(sizes)+1)
	out[0] = &Clock{}
	for r := range c.Ranges() {
		for n := len(out) - 1; n < len(sizes) && sizes[n] <= r.Last-r.First; n++ {
			if sizes[n] > 0 {
				out[n].AddRange(r.Origin, r.First, r.First+sizes[n]-1)
				r.First += sizes[n]
			}
			out = append(out, &Clock{})
		}
		n := len(out) - 1
		out[n].AddRange(r.Origin, r.First, r.Last)
		if n < len(sizes) {
			sizes[n] -= r.Last - r.First + 1
		}
	}
	for len(out) <= len(sizes) {
		out = append(out, &Clock{})
	}
	return out
}

// Parted returns two new clocks: the dots of single origins, and those of runs of origins that are
// over.
func (c *Clock) Parted() (single, closed *Clock) {
	single, closed = &Clock{}, &Clock{}
	for i := range c.rows {
		to := single
		if c.rows[i].Wide() {
			to = closed
		}
		to.rows = to.rows.push(c.rows[i].clone())
	}
	return single, closed
}
