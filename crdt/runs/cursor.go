package runs

import "github.com/coterie-go/coterie/crdt/dots"

// Groups says how the events of a log are grouped. A group is within a run.
type Groups interface {
	// Group says how many events the group has that the event at a position is of, and how many of them stand
	// before it.
	Group(pos uint64) (events, before uint64)
}

// Cursor goes through the groups of a List that a peer lacks, by position.
type Cursor struct {
	list   *List
	peer   *dots.Row
	groups Groups
	i      int    // the run
	at     uint64 // the group's first event in it
}

// NewCursor makes a cursor that stands before all groups. It is good until the next Add or Take.
func NewCursor(l *List, peer *dots.Row, g Groups) Cursor {
	return Cursor{list: l, peer: peer, groups: g}
}

// Place is the position of the group that Seek has found, and the seq of its first event.
func (c *Cursor) Place() (pos, first uint64) {
	r := c.list.At(c.i)
	return r.Pos + c.at, r.First + c.at
}

// Next goes past the group that Seek has found.
func (c *Cursor) Next() {
	pos, _ := c.Place()
	n, _ := c.groups.Group(pos)
	c.at += n
}

// Seek moves on to the next group that the peer lacks, and reports whether there is one. It jumps over what the peer
// has: within a run, and where runs are in order of seq too, over runs. Where they are not, it jumps to the first one
// that can hold the peer's lowest missing seq and goes through all from there.
func (c *Cursor) Seek() bool {
	if c.i == 0 && c.at == 0 {
		c.i = c.list.Above(0, c.peer.Base())
	}
	for known := uint64(0); c.i < c.list.Len(); {
		r := c.list.At(c.i)
		for c.at < uint64(r.N) {
			n, _ := c.groups.Group(r.Pos + c.at)
			first := r.First + c.at
			next := first + n
			if !c.peer.HasRange(first, next-1) {
				return true
			}
			if end, ok := c.peer.EndOf(next - 1); ok {
				known, next = end, min(end, r.Last())+1
			}
			if c.at = next - r.First; c.at < uint64(r.N) {
				_, before := c.groups.Group(r.Pos + c.at)
				c.at -= before
			}
		}
		if c.i, c.at = c.i+1, 0; c.list.Sorted() {
			c.i = c.list.Above(c.i, known)
		}
	}
	return false
}
