package dots

import (
	"iter"
	"slices"
)

// Row is the part of a clock that belongs to one origin, or to a run of origins that all have the
// same seqs. It must not be modified.
type Row struct {
	first, last Origin // the origins; the same, unless they are over
	base        uint64 // every seq from 1 to base is in the set
	above       []span // sorted, apart from each other and from base by at least one missing seq
}

// span is a run of seqs, both ends included.
type span struct{ first, last uint64 }

// noRow stands for the origins of which a clock holds nothing; it is never written to.
var noRow Row

// Origins returns the first and the last of the origins, which are the same unless they are over.
func (r *Row) Origins() (first, last Origin) { return r.first, r.last }

// Base returns the seq up to which, from 1, none is missing.
func (r *Row) Base() uint64 { return r.base }

// Max returns the highest seq.
func (r *Row) Max() uint64 { return r.max() }

// Has reports whether a seq is in the row.
func (r *Row) Has(seq uint64) bool { return r.has(seq) }

// Without returns a new row with the seqs that are in r and not in o.
func (r *Row) Without(o *Row) Row {
	out := Row{first: r.first, last: r.last}
	add := func(first, last uint64) { // they come in order, and apart from each other
		if first == 1 {
			out.base = last
		} else {
			out.above = append(out.above, span{first, last})
		}
	}
	if r.base > o.base {
		o.eachGap(1, r.base, add)
	}
	for _, s := range r.above {
		o.eachGap(s.first, s.last, add)
	}
	return out
}

// EachGap calls fn, in order, with the runs of first to last that are not in r.
func (r *Row) EachGap(first, last uint64, fn func(first, last uint64)) { r.eachGap(first, last, fn) }

// EndOf returns where the run ends that seq is in, or else the next one above; ok is false when
// there is none.
func (r *Row) EndOf(seq uint64) (end uint64, ok bool) {
	if seq <= r.base {
		return r.base, true
	}
	if k := r.search(seq); k < len(r.above) {
		return r.above[k].last, true
	}
	return 0, false
}

// Runs yields the runs of seqs, both ends included, in order.
func (r *Row) Runs() iter.Seq2[uint64, uint64] {
	return func(yield func(first, last uint64) bool) {
		for s := range r.runs() {
			if !yield(s.first, s.last) {
				return
			}
		}
	}
}

// of returns a copy of the row for other origins.
func (r *Row) of(first, last Origin) Row {
	return Row{first: first, last: last, base: r.base, above: slices.Clone(r.above)}
}

func (r *Row) clone() Row { return r.of(r.first, r.last) }

// empty reports whether there is no seq.
func (r *Row) empty() bool { return r.base == 0 && len(r.above) == 0 }

// closed reports whether the row is of an origin that is over, or of what one such row has more than another: all
// events or none, and all or none of the items that each move has brought. Its neighbours may be one with it. What
// is joined of such rows, or remains of one without another, is such a row again.
func (r *Row) closed() bool {
	if r.empty() || r.max()&SeqMax != SeqMax {
		return false // most rows
	}
	for s := range r.runs() {
		if s.first != 1 && s.first&SeqMax != 0 || s.last&SeqMax != SeqMax {
			return false
		}
	}
	return true
}

// Wide reports whether the row is of more than one origin.
func (r *Row) Wide() bool { return r.first != r.last }

// same reports whether both have the same seqs.
func (r *Row) same(o *Row) bool { return r.base == o.base && slices.Equal(r.above, o.above) }

// follows reports whether the row belongs to one row with prev.
func (r *Row) follows(prev *Row) bool {
	return r.first-1 == prev.last && r.closed() && r.same(prev)
}

// cutAt returns the seqs of the origin o up to one, and those after it.
func (r *Row) cutAt(o Origin, seq uint64) (upTo, after Row) {
	upTo, after = Row{first: o, last: o}, Row{first: o, last: o}
	for s := range r.runs() {
		if s.first <= seq {
			upTo.addRange(s.first, min(s.last, seq))
		}
		if s.last > seq {
			after.addRange(max(s.first, seq+1), s.last)
		}
	}
	return upTo, after
}

func (r *Row) max() uint64 {
	if n := len(r.above); n > 0 {
		return r.above[n-1].last
	}
	return r.base
}

func (r *Row) has(seq uint64) bool { return seq != 0 && r.HasRange(seq, seq) }

// HasRange reports whether all of first to last is in the row; first is at least 1.
func (r *Row) HasRange(first, last uint64) bool {
	return last <= r.base || first > r.base && r.hasRangeAbove(first, last)
}

// hasRangeAbove is HasRange of what begins above the base. It is not inlined, so that HasRange is.
//
//go:noinline
func (r *Row) hasRangeAbove(first, last uint64) bool {
	i := r.search(first)
	return i < len(r.above) && r.above[i].first <= first && last <= r.above[i].last
}

// maxTo returns the highest seq in the row that is not above most.
func (r *Row) maxTo(most uint64) uint64 {
	for i := len(r.above) - 1; i >= 0; i-- {
		if r.above[i].first <= most {
			return min(most, r.above[i].last)
		}
	}
	return min(most, r.base)
}

// search returns the index of the first interval that ends at seq or after it.
func (r *Row) search(seq uint64) int {
	lo, hi := 0, len(r.above)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if r.above[m].last < seq {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo
}

// addRange inserts first to last, 1 <= first <= last. Comparisons subtract from lower ends, which
// are never 0, so that no sum overflows.
func (r *Row) addRange(first, last uint64) {
	if first-1 <= r.base {
		r.base = max(r.base, last)
		n := 0
		for n < len(r.above) && r.above[n].first-1 <= r.base {
			r.base = max(r.base, r.above[n].last)
			n++
		}
		if n > 0 {
			r.above = slices.Delete(r.above, 0, n)
		}
		return
	}
	i := r.search(first - 1) // an interval that ends at first-1 is adjacent
	j := i
	for j < len(r.above) && r.above[j].first-1 <= last {
		first, last = min(first, r.above[j].first), max(last, r.above[j].last)
		j++
	}
	if i == j {
		r.above = slices.Insert(r.above, i, span{first, last})
		return
	}
	r.above[i] = span{first, last}
	r.above = slices.Delete(r.above, i+1, j)
}

// runs yields the runs of the row in order.
func (r *Row) runs() iter.Seq[span] {
	return func(yield func(span) bool) {
		if r.base > 0 && !yield(span{1, r.base}) {
			return
		}
		for _, s := range r.above {
			if !yield(s) {
				return
			}
		}
	}
}

// join inserts every seq of o, and costs at most one pass over both.
func (r *Row) join(o *Row) {
	if len(o.above)*joinRatio <= len(r.above) {
		for s := range o.runs() {
			r.addRange(s.first, s.last)
		}
		return
	}
	r.base = max(r.base, o.base)
	all := make([]span, 0, len(r.above)+len(o.above))
	for a, b := r.above, o.above; len(a)+len(b) > 0; {
		next := &a
		if len(a) == 0 || len(b) > 0 && b[0].first < a[0].first {
			next = &b
		}
		s := (*next)[0]
		*next = (*next)[1:]
		switch n := len(all); {
		case s.first-1 <= r.base:
			r.base = max(r.base, s.last)
		case n > 0 && s.first-1 <= all[n-1].last:
			all[n-1].last = max(all[n-1].last, s.last)
		default:
			all = append(all, s)
		}
	}
	r.above = all
}

// Includes reports whether every seq of o is in r.
func (r *Row) Includes(o *Row) bool {
	return o.base <= r.base && (len(o.above) == 0 || r.includesAbove(o))
}

// includesAbove reports whether every seq of o above its base is in r. It is never inlined, so that Includes, whose
// answer mostly is in the bases, always is.
//
//go:noinline
func (r *Row) includesAbove(o *Row) bool {
	for _, s := range o.above {
		if !r.HasRange(s.first, s.last) {
			return false
		}
	}
	return true
}

// eachGap calls fn, in order, with the runs of first to last that are not in r.
func (r *Row) eachGap(first, last uint64, fn func(first, last uint64)) {
	if last <= r.base {
		return
	}
	first = max(first, r.base+1)
	for i := r.search(first); i < len(r.above) && r.above[i].first <= last; i++ {
		s := r.above[i]
		if first < s.first {
			fn(first, s.first-1)
		}
		if s.last >= last {
			return
		}
		first = s.last + 1
	}
	fn(first, last)
}
