package dots

import "slices"

// rowList is the rows of a clock, by origin.
type rowList []Row

// find returns the row of o, or where it would stand.
func (l rowList) find(o Origin) (int, bool) {
	lo, hi := 0, len(l)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if l[m].last < o {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo, lo < len(l) && l[lo].first <= o
}

// push returns the rows with one more behind them, which is one with the last if they belong together.
// An empty one is left out.
func (l rowList) push(r Row) rowList {
	if r.empty() {
		return l
	}
	if n := len(l); n > 0 && r.follows(&l[n-1]) {
		l[n-1].last = r.last
		return l
	}
	return append(l, r)
}

// isolate gives one origin out of a row of many a row of its own, and returns where it is.
func (l *rowList) isolate(i int, o Origin) int {
	r := (*l)[i]
	var parts []Row
	if r.first < o {
		parts = append(parts, r.of(r.first, o-1))
	}
	at := i + len(parts)
	parts = append(parts, r.of(o, o))
	if o < r.last {
		parts = append(parts, r.of(o+1, r.last))
	}
	*l = slices.Replace(*l, i, i+1, parts...)
	return at
}

// unite makes one row of a closed one and those neighbours that belong to it.
func (l *rowList) unite(i int) {
	if i+1 < len(*l) && (*l)[i+1].follows(&(*l)[i]) {
		(*l)[i].last = (*l)[i+1].last
		*l = slices.Delete(*l, i+1, i+2)
	}
	if i > 0 && (*l)[i].follows(&(*l)[i-1]) {
		(*l)[i-1].last = (*l)[i].last
		*l = slices.Delete(*l, i, i+1)
	}
}
