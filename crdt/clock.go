package crdt

import (
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/zeebo/xxh3"
)

// Range is a run of consecutive dots of one origin, both ends included.
type Range struct {
	Origin      Origin
	First, Last uint64
}

// Clock is a set of dots: per origin a base, contiguous from 1, and intervals above it. The zero
// value is empty and ready to use. Methods that do not change it may be called concurrently, and
// Has, HasAll, Includes and Equal allocate nothing.
type Clock struct {
	rows []clockRow // by origin, none of them empty
}

// find returns the row of o, or where it would stand.
func (c *Clock) find(o Origin) (int, bool) {
	lo, hi := 0, len(c.rows)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if c.rows[m].origin < o {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo, lo < len(c.rows) && c.rows[lo].origin == o
}

// row returns the row of o, an empty one when there is none. Read only.
func (c *Clock) row(o Origin) *clockRow {
	if i, ok := c.find(o); ok {
		return &c.rows[i]
	}
	return &noRow
}

// noRow stands for the origins of which a clock holds nothing; it is never written to.
var noRow clockRow

// Has reports whether d is in the set.
func (c *Clock) Has(d Dot) bool { return c.row(d.Origin).has(d.Seq) }

// HasAll reports whether every dot of ds is in the set.
func (c *Clock) HasAll(ds []Dot) bool {
	for _, d := range ds {
		if !c.Has(d) {
			return false
		}
	}
	return true
}

// Add inserts d and reports whether it was new. The seq 0 names no event and is never inserted.
func (c *Clock) Add(d Dot) bool {
	if d.Seq == 0 || c.Has(d) {
		return false
	}
	c.AddRange(d.Origin, d.Seq, d.Seq)
	return true
}

// AddRange inserts the dots first to last of o, both included. A range that is empty or starts at 0
// is ignored from there.
func (c *Clock) AddRange(o Origin, first, last uint64) {
	if last == 0 || first > last {
		return
	}
	i, ok := c.find(o)
	if !ok {
		c.rows = slices.Insert(c.rows, i, clockRow{origin: o})
	}
	c.rows[i].addRange(max(first, 1), last)
}

// joinRatio is how many times smaller a clock is that is joined piece by piece; others are joined
// in one pass over both.
const joinRatio = 64

// Join inserts every dot of o.
func (c *Clock) Join(o *Clock) {
	if len(o.rows)*joinRatio >= len(c.rows) {
		c.merge(o)
		return
	}
	for i := range o.rows {
		for r := range o.rows[i].runs() {
			c.AddRange(o.rows[i].origin, r.first, r.last)
		}
	}
}

// merge is Join in one pass over both, however many origins are new.
func (c *Clock) merge(o *Clock) {
	fresh := 0 // origins that only o has
	for i, j := 0, 0; j < len(o.rows); j++ {
		for i < len(c.rows) && c.rows[i].origin < o.rows[j].origin {
			i++
		}
		if i < len(c.rows) && c.rows[i].origin == o.rows[j].origin {
			c.rows[i].join(&o.rows[j])
		} else {
			fresh++
		}
	}
	if fresh == 0 {
		return
	}
	i := len(c.rows) - 1 // from the last, so that no row is written over before it has moved
	c.rows = slices.Grow(c.rows, fresh)[:len(c.rows)+fresh]
	to := len(c.rows) - 1
	for j := len(o.rows) - 1; j >= 0; j-- {
		for i >= 0 && c.rows[i].origin > o.rows[j].origin {
			c.rows[to] = c.rows[i]
			to--
			i--
		}
		if i < 0 || c.rows[i].origin != o.rows[j].origin {
			c.rows[to] = o.rows[j].clone()
			to--
		}
	}
}

// beside calls fn with each row of c and the row of o with the same origin, an empty one when there
// is none, until it says no. It reports whether it never did. It costs a pass over both, or a
// search for each row of a clock that is much smaller.
func (c *Clock) beside(o *Clock, fn func(mine, theirs *clockRow) bool) bool {
	search := len(c.rows)*joinRatio < len(o.rows)
	j := 0
	for i := range c.rows {
		mine, theirs := &c.rows[i], &noRow
		if search {
			theirs = o.row(mine.origin)
		} else {
			for j < len(o.rows) && o.rows[j].origin < mine.origin {
				j++
			}
			if j < len(o.rows) && o.rows[j].origin == mine.origin {
				theirs = &o.rows[j]
			}
		}
		if !fn(mine, theirs) {
			return false
		}
	}
	return true
}

// Includes reports whether every dot of o is in the set.
func (c *Clock) Includes(o *Clock) bool {
	return o.beside(c, func(theirs, mine *clockRow) bool { return mine.includes(theirs) })
}

// Equal reports whether both sets hold the same dots.
func (c *Clock) Equal(o *Clock) bool {
	return slices.EqualFunc(c.rows, o.rows, func(a, b clockRow) bool {
		return a.origin == b.origin && a.base == b.base && slices.Equal(a.above, b.above)
	})
}

// Minus returns a new clock with the dots that are in c and not in o.
func (c *Clock) Minus(o *Clock) *Clock {
	out := &Clock{}
	c.beside(o, func(mine, theirs *clockRow) bool {
		if theirs.includes(mine) {
			return true
		}
		r := clockRow{origin: mine.origin}
		mine.eachMissing(theirs, r.addRange)
		out.rows = append(out.rows, r)
		return true
	})
	return out
}

// Of returns a new clock with the dots of one origin.
func (c *Clock) Of(o Origin) *Clock {
	i, ok := c.find(o)
	if !ok {
		return &Clock{}
	}
	return &Clock{rows: []clockRow{c.rows[i].clone()}}
}

// Max returns the highest seq of o in the set, 0 when there is none.
func (c *Clock) Max(o Origin) uint64 { return c.row(o).max() }

// Base returns the highest seq of o up to which, from 1, none is missing.
func (c *Clock) Base(o Origin) uint64 { return c.row(o).base }

// Clone returns a copy that shares nothing with c.
func (c *Clock) Clone() *Clock {
	out := &Clock{rows: slices.Clone(c.rows)}
	for i := range out.rows {
		out.rows[i].above = slices.Clone(out.rows[i].above)
	}
	return out
}

// Empty reports whether the set holds no dot.
func (c *Clock) Empty() bool { return len(c.rows) == 0 }

// Len counts the dots; it stops at the largest uint64.
func (c *Clock) Len() uint64 {
	var n uint64
	for r := range c.Ranges() {
		k := r.Last - r.First + 1
		if n+k < n {
			return math.MaxUint64
		}
		n += k
	}
	return n
}

// Ranges yields the maximal runs of dots, by origin and then by seq.
func (c *Clock) Ranges() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for i := range c.rows {
			r := &c.rows[i]
			if r.base > 0 && !yield(Range{r.origin, 1, r.base}) {
				return
			}
			for _, s := range r.above {
				if !yield(Range{r.origin, s.first, s.last}) {
					return
				}
			}
		}
	}
}

func (c *Clock) String() string {
	var b strings.Builder
	b.WriteByte('{')
	last, any := Origin(0), false
	for r := range c.Ranges() {
		switch {
		case any && r.Origin == last:
			b.WriteByte(',')
		case any:
			fmt.Fprintf(&b, " %v:", r.Origin)
		default:
			fmt.Fprintf(&b, "%v:", r.Origin)
		}
		last, any = r.Origin, true
		if r.First == r.Last {
			fmt.Fprintf(&b, "%d", r.First)
		} else {
			fmt.Fprintf(&b, "%d-%d", r.First, r.Last)
		}
	}
	b.WriteByte('}')
	return b.String()
}

// Hash returns a hash of the set that is the same for equal sets on every machine.
func (c *Clock) Hash() [16]byte {
	var buf [512]byte
	return xxh3.Hash128(AppendClock(buf[:0], c)).Bytes()
}
