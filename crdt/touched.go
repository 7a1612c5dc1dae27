package crdt

import "github.com/coterie-go/coterie/crdt/runs"

// touchedMax bounds the groups that Touched looks at.
const touchedMax = 4096

// Touched calls fn with the key of each event that dots names, some of them more than once. It
// returns false when it cannot tell them all: the log does not reach back to some, the clock lacks
// some, or they are many. The cost is that of the events named.
func (s *Store) Touched(dots *Clock, fn func(key string)) (all bool) {
	return s.clock.Includes(dots) && s.log.keysOf(dots, s.clock, fn)
}

// keysOf calls fn with the keys of the events that dots name, all of which are in the clock of the
// store. It returns false when it cannot tell them all.
func (l *eventLog) keysOf(dots, clock *Clock, fn func(key string)) (all bool) {
	n := 0
	for row := range dots.Rows(0) {
		o, _ := row.Origins()
		at, ok := l.find(o)
		if !ok || row.Wide() {
			return false
		}
		rest := clock.Row(o).Without(row)
		if !rest.Includes(l.floor.Row(o)) {
			return false
		}
		for c := runs.NewCursor(&l.origins[at].runs, &rest, l); c.Seek(); c.Next() {
			if n++; n > touchedMax {
				return false
			}
			last := ""
			pos, _ := c.Place()
			for j := range uint64(l.at(pos).n) {
				if key := l.at(pos + j).item.Key; key != last {
					fn(key)
					last = key
				}
			}
		}
	}
	return true
}
