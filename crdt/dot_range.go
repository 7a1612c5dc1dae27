package crdt

import (
	"iter"
	"math/bits"
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
// what it yields and the ranges of c.
func (x *dotIndex) in(c *Clock, after Dot) iter.Seq[*Item] {
	return func(yield func(*Item) bool) {
		c.eachAfter(after, func(r Range) bool { return x.ascend(r, yield) })
	}
}

// In yields the live items whose dots are in c and come after a dot, in order of dots. The store
// must not change meanwhile.
func (s *Store) In(c *Clock, after Dot) iter.Seq[*Item] { return s.live.index.in(c, after) }

// In yields the live items whose dots are in c and come after a dot, in order of dots.
func (s *Snapshot) In(c *Clock, after Dot) iter.Seq[*Item] { return s.index.in(c, after) }

// eachAfter calls fn, in order, with the runs of dots that come after d, until it says no.
func (c *Clock) eachAfter(d Dot, fn func(Range) bool) {
	i, _ := c.find(d.Origin)
	for ; i < len(c.rows); i++ {
		r := &c.rows[i]
		from := uint64(0)
		if r.origin == d.Origin {
			from = d.Seq
		}
		if r.base > from && !fn(Range{r.origin, from + 1, r.base}) {
			return
		}
		for _, s := range r.above[r.search(from):] {
			if s.last > from && !fn(Range{r.origin, max(s.first, from+1), s.last}) {
				return
			}
		}
	}
}

// After returns a new clock with the dots of c that come after d.
func (c *Clock) After(d Dot) *Clock {
	out := &Clock{}
	c.eachAfter(d, func(r Range) bool {
		out.AddRange(r.Origin, r.First, r.Last)
		return true
	})
	return out
}

// UpTo returns a new clock with the dots of c up to d, d included.
func (c *Clock) UpTo(d Dot) *Clock {
	out := &Clock{}
	for r := range c.Ranges() {
		if r.Origin > d.Origin || r.Origin == d.Origin && r.First > d.Seq {
			break
		}
		if r.Origin == d.Origin {
			r.Last = min(r.Last, d.Seq)
		}
		out.AddRange(r.Origin, r.First, r.Last)
	}
	return out
}

// And returns a new clock with the dots that are in c and in o.
func (c *Clock) And(o *Clock) *Clock { return c.Minus(c.Minus(o)) }
