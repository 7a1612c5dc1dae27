package dots

import (
	"iter"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/zeebo/xxh3"
)

// Clock is a set of dots: per origin a base, contiguous from 1, and intervals above it. The zero
// value is empty and ready to use. Methods that do not change it may be called concurrently, and
// Has, HasAll, Includes and Equal allocate nothing.
//
// Invariants: no row is empty. Rows are in order, and no two are of one origin. Two rows that follow
// each other without a gap and have the same seqs are one, if they are closed; so one set has one
// form. All rows of more than one origin are closed.
type Clock struct {
	rows rowList
}

// Row returns the row of o, an empty one when there is none. It is valid until the clock changes.
func (c *Clock) Row(o Origin) *Row {
	if i, ok := c.rows.find(o); ok {
		return &c.rows[i]
	}
	return &noRow
}

// Rows yields the rows by origin, from that of an origin on, or else the next.
func (c *Clock) Rows(from Origin) iter.Seq[*Row] {
	return func(yield func(*Row) bool) {
		i, _ := c.rows.find(from)
		for ; i < len(c.rows); i++ {
			if !yield(&c.rows[i]) {
				return
			}
		}
	}
}

// Has reports whether d is in the set.
func (c *Clock) Has(d Dot) bool { return c.Row(d.Origin).has(d.Seq) }

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
	i, ok := c.rows.find(o)
	first = max(first, 1)
	switch {
	case !ok:
		c.rows = slices.Insert(c.rows, i, Row{first: o, last: o})
	case c.rows[i].Wide():
		if c.rows[i].HasRange(first, last) {
			return
		}
		i = c.rows.isolate(i, o)
	}
	if c.rows[i].addRange(first, last); c.rows[i].closed() {
		c.rows.unite(i)
	}
}

// Includes reports whether every dot of o is in the set.
func (c *Clock) Includes(o *Clock) bool {
	n := o.rows.within(c.rows)
	return beside(o.rows[n:], c.rows[n:], func(_, _ Origin, theirs, mine *Row) bool { return mine.Includes(theirs) })
}

// Equal reports whether both sets hold the same dots.
func (c *Clock) Equal(o *Clock) bool {
	return slices.EqualFunc(c.rows, o.rows, func(a, b Row) bool {
		return a.first == b.first && a.last == b.last && a.same(&b)
	})
}

// minusRows is how many rows a difference of clocks mostly has at most.
const minusRows = 8

// Minus returns a new clock with the dots that are in c and not in o.
func (c *Clock) Minus(o *Clock) *Clock {
	var room [minusRows]Row // most differences are much smaller than the clocks, and stay
	out := rowList(room[:0])
	n := c.rows.within(o.rows)
	beside(c.rows[n:], o.rows[n:], func(first, last Origin, mine, theirs *Row) bool {
		if !theirs.Includes(mine) {
			r := mine.Without(theirs)
			r.first, r.last = first, last
			out = out.push(r)
		}
		return true
	})
	if len(out) == 0 {
		return &Clock{}
	}
	rows := make(rowList, len(out))
	copy(rows, out)
	return &Clock{rows: rows}
}

// And returns a new clock with the dots that are in c and in o.
func (c *Clock) And(o *Clock) *Clock {
	out := &Clock{}
	beside(c.rows, o.rows, func(first, last Origin, mine, theirs *Row) bool {
		if !theirs.empty() {
			rest := mine.Without(theirs)
			r := mine.Without(&rest)
			r.first, r.last = first, last
			out.rows = out.rows.push(r)
		}
		return true
	})
	return out
}

// Of returns a new clock with the dots of one origin.
func (c *Clock) Of(o Origin) *Clock {
	r := c.Row(o)
	if r.empty() {
		return &Clock{}
	}
	return &Clock{rows: []Row{r.of(o, o)}}
}

// Max returns the highest seq of o in the set, 0 when there is none.
func (c *Clock) Max(o Origin) uint64 { return c.Row(o).max() }

// Base returns the highest seq of o up to which, from 1, none is missing.
func (c *Clock) Base(o Origin) uint64 { return c.Row(o).base }

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
		if n+k < n || r.Through != 0 {
			return math.MaxUint64
		}
		n += k
	}
	return n
}

// LastEvent returns the number of the last event of o in the clock, 0 if there is none. Items that
// were moved do not count.
func (c *Clock) LastEvent(o Origin) uint64 { return c.Row(o).maxTo(SeqMax) }

// HasMoved reports whether the clock has items that were moved.
func (c *Clock) HasMoved() bool {
	return slices.ContainsFunc(c.rows, func(r Row) bool { return r.max() > SeqMax })
}

// Ranges yields the maximal runs of dots, by origin and then by seq; those of a run of origins that
// are over come once for all of them.
func (c *Clock) Ranges() iter.Seq[Range] {
	return func(yield func(Range) bool) {
		for i := range c.rows {
			r := &c.rows[i]
			through := r.last
			if !r.Wide() {
				through = 0
			}
			for s := range r.runs() {
				if !yield(Range{r.first, s.first, s.last, through}) {
					return
				}
			}
		}
	}
}

func (c *Clock) String() string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range c.rows {
		r := &c.rows[i]
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(r.first.String())
		if r.Wide() {
			b.WriteString("-" + r.last.String())
		}
		sep := byte(':')
		for s := range r.runs() {
			b.WriteByte(sep)
			sep = ','
			if b.WriteString(strconv.FormatUint(s.first, 10)); s.first != s.last {
				b.WriteString("-" + strconv.FormatUint(s.last, 10))
			}
		}
	}
	b.WriteByte('}')
	return b.String()
}

// Hash returns a hash of the set that is the same for equal sets on every machine.
func (c *Clock) Hash() [16]byte {
	var buf [512]byte
	return xxh3.Hash128(c.Append(buf[:0])).Bytes()
}
