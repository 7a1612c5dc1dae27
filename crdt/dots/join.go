package dots

import "slices"

// joinRatio is how many times smaller a clock is that is joined piece by piece; others are joined
// in one pass over both.
const joinRatio = 64

// Join inserts every dot of o.
func (c *Clock) Join(o *Clock) {
	if len(o.rows)*joinRatio >= len(c.rows) || slices.ContainsFunc(o.rows, func(r Row) bool { return r.Wide() }) {
		merge(c, o)
		return
	}
	for i := range o.rows {
		for s := range o.rows[i].runs() {
			c.AddRange(o.rows[i].first, s.first, s.last)
		}
	}
}

// Close inserts every event of the origins from first to last, and every item of theirs that the
// moves up to a number have brought: these origins are over. To close one run after the other, in
// order, costs as much as there are runs.
func (c *Clock) Close(first, last Origin, moves uint16) {
	over := Row{first: first, last: last, base: closedTo(moves)}
	switch n := len(c.rows); {
	case first > last:
	case n == 0 || c.rows[n-1].last < first:
		c.rows = c.rows.push(over)
	default:
		merge(c, &Clock{rows: []Row{over}})
	}
}

// merge is Join in one pass over both, however many origins are new.
func merge(c, o *Clock) {
	switch {
	case len(c.rows) == 0:
		c.rows = o.Clone().rows
		return
	case mergeRows(c.rows, o.rows):
		return
	}
	out := Clock{rows: make([]Row, 0, len(c.rows)+len(o.rows))}
	eachRow(c.rows, o.rows, func(first, last Origin, mine, theirs *Row) {
		r := mine.of(first, last)
		r.join(theirs)
		out.rows = out.rows.push(r)
	})
	c.rows = out.rows
}

// mergeRows inserts what lies within the rows that there are. It reports whether that is all, and
// has left each row what it was for.
func mergeRows(into, from []Row) bool {
	all := true
	for i, j := 0, 0; j < len(from); j++ {
		r := &from[j]
		for i < len(into) && into[i].last < r.first {
			i++
		}
		switch {
		case i == len(into) || r.first < into[i].first || r.last > into[i].last:
			all = false
		case into[i].Includes(r):
		case into[i].Wide():
			all = false
		default:
			into[i].join(r)
			all = all && !into[i].closed()
		}
	}
	return all
}

// eachRow calls fn with each run of origins of which both have one row, or one has a row and the
// other an empty one, in order.
func eachRow(a, b []Row, fn func(first, last Origin, x, y *Row)) {
	for at := Origin(0); ; {
		for len(a) > 0 && a[0].last < at {
			a = a[1:]
		}
		for len(b) > 0 && b[0].last < at {
			b = b[1:]
		}
		first, last, ok := nextRun(a, b, at)
		if !ok {
			return
		}
		fn(first, last, rowAt(a, first), rowAt(b, first))
		if at = last + 1; at == 0 {
			return
		}
	}
}

// nextRun returns the first origins, from at on, of which one row of each side says all. No row of
// either ends before at.
func nextRun(a, b []Row, at Origin) (first, last Origin, ok bool) {
	first, last = ^Origin(0), ^Origin(0)
	for _, rows := range [2][]Row{a, b} {
		if len(rows) > 0 {
			first, ok = min(first, max(rows[0].first, at)), true
		}
	}
	for _, rows := range [2][]Row{a, b} {
		switch {
		case len(rows) == 0:
		case rows[0].first > first:
			last = min(last, rows[0].first-1)
		default:
			last = min(last, rows[0].last)
		}
	}
	return first, last, ok
}

// rowAt returns the first row if it is of o, or an empty one.
func rowAt(rows []Row, o Origin) *Row {
	if len(rows) > 0 && rows[0].first <= o {
		return &rows[0]
	}
	return &noRow
}

// within counts the rows, from the first on, that have the same origins in both lists and nothing that is not in o:
// mostly all.
func (l rowList) within(o rowList) (n int) {
	for n < min(len(l), len(o)) && l[n].first == o[n].first && l[n].last == o[n].last && o[n].Includes(&l[n]) {
		n++
	}
	return n
}

// beside calls fn with the rows of c, each beside the row of o with the same origins, an empty one
// when there is none, until it says no. It reports whether it never did. A row of many origins
// comes in pieces, if o has several rows for them. It costs a pass over both, or a search for each
// row of a clock that is much smaller.
func beside(c, o rowList, fn func(first, last Origin, mine, theirs *Row) bool) bool {
	search := len(c)*joinRatio < len(o)
	j := 0
	for i := range c {
		mine := &c[i]
		if search {
			j, _ = o.find(mine.first)
		} else {
			for j < len(o) && o[j].last < mine.first {
				j++
			}
		}
		for at := mine.first; ; j++ {
			end, theirs := mine.last, rowAt(o[j:], at)
			switch {
			case theirs != &noRow:
				end = min(end, theirs.last)
			case j < len(o) && o[j].first <= mine.last:
				end = o[j].first - 1
				j-- // it is the next one
			}
			if !fn(at, end, mine, theirs) {
				return false
			}
			if end == mine.last {
				break
			}
			at = end + 1
		}
	}
	return true
}
