package crdt

import (
	"fmt"
	"math"
	"slices"

	"github.com/coterie-go/coterie/crdt/dots"
)

// eventLog keeps groups in the order in which this replica applied them. It keeps their payloads
// until they are trimmed: an event shipped without the payload that it put would tell the receiver
// that the item was removed. Per origin it keeps where that origin's groups stand. So finding what
// a peer lacks costs what is found.
//
// Invariants (check): log and floor partition the clock of the store; events and bytes are those of
// the groups.
type eventLog struct {
	eventsMax, bytesMax int
	floor               Clock // the events that are not in the log any more

	groups  ring[logged]
	start   uint64 // position of the front group; positions never repeat
	origins []*originLog
	events  int
	bytes   int
}

// logged is one place of the log.
type logged struct {
	group Group      // nil: trimmed, waiting for the front to pass it
	of    *originLog // of the group's origin
}

// originLog is the places of one origin's groups, by position.
type originLog struct {
	origin Origin
	refs   ring[logRef]
	sorted bool // refs are in order of seq too: their origin's events came in order
}

// logRef is the place of one group and its seqs.
type logRef struct {
	pos   uint64
	first uint64
	top   uint64 // the highest last up to here
	n     int32  // events of the group
	bytes int32  // of the group, estimated
}

func (r *logRef) last() uint64 { return r.first + uint64(r.n) - 1 }

func (l *eventLog) find(o Origin) (int, bool) {
	lo, hi := 0, len(l.origins)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if l.origins[m].origin < o {
			lo = m + 1
		} else {
			hi = m
		}
	}
	return lo, lo < len(l.origins) && l.origins[lo].origin == o
}

func (l *eventLog) add(g Group, size int) {
	o := g[0].Dot.Origin
	i, ok := l.find(o)
	if !ok {
		l.origins = slices.Insert(l.origins, i, &originLog{origin: o, sorted: true})
	}
	ol := l.origins[i]
	ol.add(logRef{pos: l.start + uint64(l.groups.len()), first: g[0].Dot.Seq, n: int32(len(g)), bytes: int32(size)})
	l.groups.push(logged{g, ol})
	l.events += len(g)
	l.bytes += size
}

func (ol *originLog) add(r logRef) {
	r.top = r.last()
	if n := ol.refs.len(); n > 0 {
		top := ol.refs.at(n - 1).top
		ol.sorted = ol.sorted && r.first > top
		r.top = max(r.top, top)
	}
	ol.refs.push(r)
}

// cut takes the first group of one origin out and returns its seqs.
func (l *eventLog) cut(ol *originLog) (first, last uint64) {
	r := ol.refs.pop()
	p := l.at(r.pos)
	l.events -= len(*p)
	l.bytes -= int(r.bytes)
	*p = nil
	return r.first, r.last()
}

// at returns the place of the group at a position.
func (l *eventLog) at(pos uint64) *Group { return &l.groups.at(int(pos - l.start)).group }

// advance drops the front, which is trimmed.
func (l *eventLog) advance() {
	l.groups.pop()
	l.start++
}

// settle drops the trimmed front and the origins that have nothing left.
func (l *eventLog) settle() {
	for l.groups.len() > 0 && l.groups.at(0).group == nil {
		l.advance()
	}
	l.origins = slices.DeleteFunc(l.origins, func(ol *originLog) bool { return ol.refs.len() == 0 })
}

// size estimates the encoded length of a group.
func (g Group) size() int {
	n := 16
	for i := range g {
		e := &g[i]
		n += 8 + len(e.Path) + len(e.Payload) + 6*len(e.Removes)
		if i == 0 || e.Key != g[i-1].Key {
			n += len(e.Key)
		}
	}
	return n
}

// push appends a group and drops the oldest while the log is over its bounds. They go first, so
// that the rings need not be larger than the bounds.
func (l *eventLog) push(g Group) {
	size := min(g.size(), math.MaxInt32)
	l.shrink(l.eventsMax-len(g), l.bytesMax-size)
	l.add(g, size)
	l.shrink(l.eventsMax, l.bytesMax) // it may be too large by itself
}

// shrink drops the oldest groups while the log is over bounds. Trimmed places count too: the ring
// itself is bounded.
func (l *eventLog) shrink(events, bytes int) {
	if l.events <= events && l.bytes <= bytes && l.groups.len() <= 2*l.eventsMax {
		return
	}
	emptied := false
	for l.groups.len() > 0 && (l.events > events || l.bytes > bytes || l.groups.len() > l.eventsMax) {
		if front := l.groups.at(0); front.group != nil {
			l.forget(front.of)
			emptied = emptied || front.of.refs.len() == 0
		}
		l.advance()
	}
	if emptied {
		l.settle()
	}
}

// forget takes the first group of one origin out of the log: the floor rises over it.
func (l *eventLog) forget(ol *originLog) {
	first, last := l.cut(ol)
	l.floor.AddRange(ol.origin, first, last)
}

// cover takes note of events that did not come through the log.
func (l *eventLog) cover(events *Clock) { l.floor.Join(events) }

// trim drops the groups whose dots stable contains.
func (l *eventLog) trim(stable *Clock) {
	for _, ol := range l.origins {
		row := stable.Row(ol.origin)
		for ol.refs.len() > 0 && row.HasRange(ol.refs.at(0).first, ol.refs.at(0).last()) {
			l.forget(ol)
		}
	}
	l.settle()
}

// missing returns the groups that a peer lacks, where clock is that of the store; see
// Store.Missing.
func (l *eventLog) missing(peer, clock *Clock, maxBytes int) (gs []Group, more, covered bool) {
	if !peer.Includes(&l.floor) {
		return nil, false, false
	}
	var cursors []logCursor
	for _, ol := range l.origins {
		c := logCursor{log: ol, peer: peer.Row(ol.origin)}
		if !c.peer.Includes(clock.Row(ol.origin)) && c.seek() {
			cursors = append(cursors, c)
		}
	}
	for bytes := 0; len(cursors) > 0; {
		best := 0
		for i := range cursors {
			if cursors[i].pos() < cursors[best].pos() {
				best = i
			}
		}
		g := *l.at(cursors[best].pos())
		if bytes += g.size(); bytes > maxBytes && len(gs) > 0 {
			return gs, true, true
		}
		gs = append(gs, g)
		cursors[best].i++
		if !cursors[best].seek() {
			cursors = slices.Delete(cursors, best, best+1)
		}
	}
	return gs, false, true
}

// check recomputes what the log keeps; clock is that of the store.
func (l *eventLog) check(clock *Clock) error {
	var logged Clock
	events, bytes := 0, 0
	for i := range l.groups.len() {
		g := l.groups.at(i).group
		for i := range g {
			if !logged.Add(g[i].Dot) {
				return fmt.Errorf("crdt: event %v is in the log twice", g[i].Dot)
			}
			if l.floor.Has(g[i].Dot) {
				return fmt.Errorf("crdt: event %v is in the log and in the floor", g[i].Dot)
			}
		}
		events += len(g)
		if g != nil {
			bytes += g.size()
		}
	}
	logged.Join(&l.floor)
	if !logged.Equal(clock) {
		return fmt.Errorf("crdt: log and floor make %v, the clock is %v", &logged, clock)
	}
	refs := 0
	for _, ol := range l.origins {
		refs += ol.refs.len()
		for i := range ol.refs.len() {
			r := *ol.refs.at(i)
			g, first := *l.at(r.pos), Dot{Origin: ol.origin, Seq: r.first}
			if g == nil || g.First() != first || g.Last().Seq != r.last() {
				return fmt.Errorf("crdt: log of %v: no group %d-%d at position %d", ol.origin, r.first, r.last(), r.pos)
			}
		}
	}
	if events != l.events || bytes != l.bytes || refs > l.groups.len() {
		return fmt.Errorf("crdt: log counts %d events of %d bytes, has %d of %d", l.events, l.bytes, events, bytes)
	}
	return nil
}

// logCursor walks the groups of one origin that a peer lacks, by position.
type logCursor struct {
	log  *originLog
	peer *dots.Row
	i    int
}

func (c *logCursor) pos() uint64 { return c.log.refs.at(c.i).pos }

// seek moves on to the next group that the peer lacks and reports whether there is one. Where seqs
// are in order it jumps over what the peer has; where they are not, it jumps to the first place
// that can hold the peer's lowest missing seq and walks from there.
func (c *logCursor) seek() bool {
	if c.i == 0 {
		c.jump(c.peer.Base())
	}
	for c.i < c.log.refs.len() {
		r := c.log.refs.at(c.i)
		if !c.peer.HasRange(r.first, r.last()) {
			return true
		}
		c.i++
		if c.log.sorted {
			if end, ok := c.peer.EndOf(r.last()); ok {
				c.jump(end)
			}
		}
	}
	return false
}

// jump skips places, from the cursor's on, up to the first that can hold a seq above known.
func (c *logCursor) jump(known uint64) {
	lo, hi := c.i, c.log.refs.len()
	if lo < hi && c.log.refs.at(lo).top > known {
		return // the usual case: the next one
	}
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		if c.log.refs.at(m).top <= known {
			lo = m + 1
		} else {
			hi = m
		}
	}
	c.i = lo
}
