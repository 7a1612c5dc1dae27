package crdt

import (
	"iter"
	"slices"
)

// clockRow is the part of a clock that belongs to one origin.
type clockRow struct {
	origin Origin
	base   uint64 // every seq from 1 to base is in the set
	above  []span // sorted, apart from each other and from base by at least one missing seq
}

// span is a run of seqs, both ends included.
type span struct{ first, last uint64 }

func (r *clockRow) clone() clockRow {
	return clockRow{origin: r.origin, base: r.base, above: slices.Clone(r.above)}
}

func (r *clockRow) max() uint64 {
	if n := len(r.above); n > 0 {
		return r.above[n-1].last
	}
	return r.base
}

func (r *clockRow) has(seq uint64) bool { return seq != 0 && r.hasRange(seq, seq) }

// hasRange reports whether all of first to last is in the set; first is at least 1.
func (r *clockRow) hasRange(first, last uint64) bool {
	if last <= r.base {
		return true
	}
	if first <= r.base || len(r.above) == 0 {
		return false
	}
	i := r.search(first)
	return i < len(r.above) && r.above[i].first <= first && last <= r.above[i].last
}

// search returns the index of the first interval that ends at seq or after it.
func (r *clockRow) search(seq uint64) int {
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
func (r *clockRow) addRange(first, last uint64) {
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
func (r *clockRow) runs() iter.Seq[span] {
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
func (r *clockRow) join(o *clockRow) {
	if len(o.above)*joinRatio < len(r.above) {
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

// includes reports whether every seq of o is in r.
func (r *clockRow) includes(o *clockRow) bool {
	if o.base > r.base {
		return false
	}
	for _, s := range o.above {
		if !r.hasRange(s.first, s.last) {
			return false
		}
	}
	return true
}

// eachMissing calls fn, in order, with the runs that are in r and not in o.
func (r *clockRow) eachMissing(o *clockRow, fn func(first, last uint64)) {
	if r.base > 0 {
		o.eachGap(1, r.base, fn)
	}
	for _, s := range r.above {
		o.eachGap(s.first, s.last, fn)
	}
}

// eachGap calls fn, in order, with the runs of first to last that are not in r.
func (r *clockRow) eachGap(first, last uint64, fn func(first, last uint64)) {
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
