package crdt

import (
	"iter"
	"math/bits"

	"github.com/coterie-go/coterie/crdt/dots"
)

// ascend calls fn, in order of seqs, with the live items of a range, until it says no.
func (x *dotIndex) ascend(r Range, fn func(*Item) bool) bool {
	i, ok := x.find(r.Origin)
	if !ok || !x.rows[i].covers(r.First) {
		return true
	}
	return x.rows[i].root.ascend(0, x.rows[i].levels, r.First, r.Last, fn)
}

// ascend visits what lies between first and last below a node whose seqs begin at start; first is
// not behind all of them.
func (n *dotNode) ascend(start uint64, level uint, first, last uint64, fn func(*Item) bool) bool {
	shift := level * dotNodeBits
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

// in yields the live items whose dots are in c and come after a dot, in order of dots. It costs
// what it yields, the ranges of c, and the origins with live items in each row of c that is of many.
func (x *dotIndex) in(c *Clock, after Dot) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		for row := range c.Rows(after.Origin) {
			if !x.ascendRow(row, after, yield) {
				return
			}
		}
	}
}

// ascendRow calls fn with the live items of a row of a clock that come after a dot, until it says no.
func (x *dotIndex) ascendRow(row *dots.Row, after Dot, fn func(*Item) bool) bool {
	first, last := row.Origins()
	i, _ := x.find(max(first, after.Origin))
	for ; i < len(x.rows) && x.rows[i].origin <= last; i++ {
		o, from := x.rows[i].origin, uint64(0)
		if o == after.Origin {
			from = after.Seq
		}
		for a, b := range row.Runs() {
			if b > from && !x.ascend(Range{Origin: o, First: max(a, from+1), Last: b}, fn) {
				return false
			}
		}
	}
	return true
}

// In yields the live items whose dots are in c and come after a dot, in order of dots. The store
// must not change meanwhile.
func (s *Store) In(c *Clock, after Dot) iter.Seq[*Item] { return s.live.index.in(c, after) }

// In yields the live items whose dots are in c and come after a dot, in order of dots.
func (s *Snapshot) In(c *Clock, after Dot) iter.Seq[*Item] { return s.index.in(c, after) }
