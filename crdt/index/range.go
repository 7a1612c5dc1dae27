package index

import (
	"iter"
	"math"
	"math/bits"

	"github.com/coterie-go/coterie/crdt/dots"
)

// Ascend calls fn, in order of seqs, with the entries of a range, until it says no.
func (x *Index[E]) Ascend(r dots.Range, fn func(E) bool) bool {
	i, ok := x.find(r.Origin)
	if !ok || !x.rows[i].covers(r.First) {
		return true
	}
	return x.rows[i].root.ascend(0, x.rows[i].levels, r.First, r.Last, fn)
}

// ascend visits what lies between first and last below a node whose seqs begin at start; first is
// not behind all of them.
func (n *node[E]) ascend(start uint64, level uint, first, last uint64, fn func(E) bool) bool {
	shift := level * nodeBits
	skip := uint64(0)
	if first > start {
		skip = (first - start) >> shift
	}
	k := bits.OnesCount64(n.bits & (1<<skip - 1))
	for set := n.bits >> skip << skip; set != 0; set &= set - 1 {
		at := start + uint64(bits.TrailingZeros64(set))<<shift
		switch {
		case at > last:
			return true
		case level > 0:
			if !n.kids[k].ascend(at, level-1, first, last, fn) {
				return false
			}
		case !fn(n.items[k]):
			return false
		}
		k++
	}
	return true
}

// In yields the entries whose dots are in c and come after a dot, in order of dots. It costs
// what it yields, the ranges of c, and the origins with entries in each row of c that is of many.
func (x *Index[E]) In(c *dots.Clock, after dots.Dot) iter.Seq[E] {
	return func(yield func(E) bool) {
		for row := range c.Rows(after.Origin) {
			if !x.ascendRow(row, after, yield) {
				return
			}
		}
	}
}

// ascendRow calls fn with the entries of a row of a clock that come after a dot, until it says no.
func (x *Index[E]) ascendRow(row *dots.Row, after dots.Dot, fn func(E) bool) bool {
	first, last := row.Origins()
	i, _ := x.find(max(first, after.Origin))
	for ; i < len(x.rows) && x.rows[i].origin <= last; i++ {
		o, from := x.rows[i].origin, uint64(0)
		if o == after.Origin {
			from = after.Seq
		}
		for a, b := range row.Runs() {
			if b > from && !x.Ascend(dots.Range{Origin: o, First: max(a, from+1), Last: b}, fn) {
				return false
			}
		}
	}
	return true
}

// All yields all entries, in order of dots.
func (x *Index[E]) All() iter.Seq[E] {
	return func(yield func(E) bool) {
		for i := range x.rows {
			if !x.rows[i].root.ascend(0, x.rows[i].levels, 1, math.MaxUint64, yield) {
				return
			}
		}
	}
}

// Origins yields the origins at whose dots there are entries, from one on, in order, each with the seq of
// its last entry.
func (x *Index[E]) Origins(from dots.Origin) iter.Seq2[dots.Origin, uint64] {
	return func(yield func(dots.Origin, uint64) bool) {
		i, _ := x.find(from)
		for ; i < len(x.rows); i++ {
			if !yield(x.rows[i].origin, x.rows[i].max()) {
				return
			}
		}
	}
}

// max returns the highest seq of the row.
func (r *row[E]) max() uint64 {
	n, top := &r.root, uint64(0)
	for level := r.levels; ; level-- {
		top |= uint64(bits.Len64(n.bits)-1) << (level * nodeBits)
		if level == 0 {
			return top
		}
		n = n.kids[len(n.kids)-1]
	}
}
