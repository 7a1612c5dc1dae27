package crdt

import (
	"math"
	"slices"
)

// eventLog keeps groups in the order in which this replica applied them, with their payloads until
// they are trimmed (an event shipped without the payload that it put would tell the receiver that
// the item was removed). Per origin it keeps where that origin's groups stand, so that finding what
// a peer lacks costs what is found.
type eventLog struct {
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

// logGroup appends a group and drops the oldest while the log is over its bounds. They go first, so
// that the rings need not be larger than the bounds.
func (s *Store) logGroup(g Group) {
	size := min(g.size(), math.MaxInt32)
	s.shrinkLog(s.opt.LogMax-len(g), s.opt.LogBytesMax-size)
	s.log.add(g, size)
	s.shrinkLog(s.opt.LogMax, s.opt.LogBytesMax) // it may be too large by itself
}

// shrinkLog drops the oldest groups while the log is over bounds. Trimmed places count too: the
// ring itself is bounded.
func (s *Store) shrinkLog(events, bytes int) {
	l := &s.log
	if l.events <= events && l.bytes <= bytes && l.groups.len() <= 2*s.opt.LogMax {
		return
	}
	emptied := false
	for l.groups.len() > 0 && (l.events > events || l.bytes > bytes || l.groups.len() > s.opt.LogMax) {
		if front := l.groups.at(0); front.group != nil {
			ol := front.of
			first, last := l.cut(ol)
			s.floor.AddRange(ol.origin, first, last)
			emptied = emptied || ol.refs.len() == 0
		}
		l.advance()
	}
	if emptied {
		l.settle()
	}
}

// Trim drops log entries whose dots stable contains: what all peers that count have. The floor
// rises accordingly.
func (s *Store) Trim(stable *Clock) {
	for _, ol := range s.log.origins {
		row := stable.row(ol.origin)
		for ol.refs.len() > 0 && row.hasRange(ol.refs.at(0).first, ol.refs.at(0).last()) {
			first, last := s.log.cut(ol)
			s.floor.AddRange(ol.origin, first, last)
		}
	}
	s.log.settle()
}

// Missing returns the groups that a peer with the given clock lacks, in the order in which this
// replica applied them, so that any prefix can be applied. It stops after about maxBytes, but not
// before one group; more says that it did. covered is false when the log does not reach back far
// enough; then there are no groups and the peer needs a repair. The cost is that of what is
// returned, not of the log.
func (s *Store) Missing(peer *Clock, maxBytes int) (gs []Group, more, covered bool) {
	if !peer.Includes(&s.floor) {
		return nil, false, false
	}
	var cursors []logCursor
	for _, ol := range s.log.origins {
		c := logCursor{log: ol, peer: peer.row(ol.origin)}
		if !c.peer.includes(s.clock.row(ol.origin)) && c.seek() {
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
		g := *s.log.at(cursors[best].pos())
		if bytes += g.size(); bytes > maxBytes && len(gs) > 0 {
			return gs, true, true
		}
		gs = append(gs, s.shipped(g))
		cursors[best].i++
		if !cursors[best].seek() {
			cursors = slices.Delete(cursors, best, best+1)
		}
	}
	return gs, false, true
}

// shipped returns a group as it is sent; only the defect BareFactWithoutRemover changes it.
func (s *Store) shipped(g Group) Group {
	if !s.opt.Defects.BareFactWithoutRemover {
		return g
	}
	g = slices.Clone(g)
	for i := range g {
		if g[i].Puts && s.index.get(g[i].Dot) == nil {
			g[i].Puts, g[i].Payload = false, ""
		}
	}
	return g
}

// logCursor walks the groups of one origin that a peer lacks, by position.
type logCursor struct {
	log  *originLog
	peer *clockRow
	i    int
}

func (c *logCursor) pos() uint64 { return c.log.refs.at(c.i).pos }

// seek moves on to the next group that the peer lacks and reports whether there is one. Where seqs
// are in order it jumps over what the peer has; where they are not, it jumps to the first place
// that can hold the peer's lowest missing seq and walks from there.
func (c *logCursor) seek() bool {
	if c.i == 0 {
		c.jump(c.peer.base)
	}
	for c.i < c.log.refs.len() {
		r := c.log.refs.at(c.i)
		if !c.peer.hasRange(r.first, r.last()) {
			return true
		}
		c.i++
		if c.log.sorted {
			if k := c.peer.search(r.last()); r.last() <= c.peer.base {
				c.jump(c.peer.base)
			} else if k < len(c.peer.above) {
				c.jump(c.peer.above[k].last)
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
