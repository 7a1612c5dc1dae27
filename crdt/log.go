package crdt

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/coterie-go/coterie/crdt/dots"
	"github.com/coterie-go/coterie/crdt/ring"
)

// eventLog keeps groups in the order in which this replica applied them. It keeps their payloads until they are
// trimmed: an event shipped without the payload that it put would tell the receiver that the item was removed. It
// shares the items with the keys, and makes groups of them again when they are shipped. Per origin it keeps where
// that origin's groups stand. So finding what a peer lacks costs what is found.
//
// Invariants (check): log and floor partition the clock of the store; events and bytes are those of the groups.
type eventLog struct {
	eventsMax, bytesMax int
	floor               Clock // the events that are not in the log any more

	places  ring.Ring[logged] // the events of a group side by side
	start   uint64            // position of the front place; positions never repeat
	origins []*originLog
	events  int
	bytes   int
}

// logged is one event in its place of the log.
type logged struct {
	item    *Item      // of its dot: what it puts. Of another: only key and path count, it puts nothing. nil: trimmed
	of      *originLog // of its origin
	removed Dot        // the one dot that it removes; zero: none, or several
	several *[]Dot     // that it removes; nil: one at most
}

// bare reports whether the item may stand for an event that puts nothing: it is new, or was removed by the event.
func (p *logged) bare() bool {
	d := p.item.Dot
	return p.item.Payload == "" && (d == Dot{} || d == p.removed || p.several != nil && slices.Contains(*p.several, d))
}

// event returns the event as it was applied, under its dot.
func (p *logged) event(d Dot) Event {
	e := Event{Dot: d, Key: p.item.Key, Path: p.item.Path, Puts: p.item.Dot == d, Payload: p.item.Payload}
	if p.several != nil {
		e.Removes = *p.several
	} else if p.removed != (Dot{}) {
		e.Removes = []Dot{p.removed}
	}
	return e
}

// originLog is the places of one origin's groups, by position.
type originLog struct {
	origin Origin
	refs   ring.Ring[logRef]
	sorted bool // refs are in order of seq too: their origin's events came in order
}

// logRef is the places of one group and its seqs.
type logRef struct {
	pos   uint64 // of its first event
	first uint64
	top   uint64 // the highest last up to here
	n     int32  // events of the group
	bytes int32  // of the group, estimated
}

func (r *logRef) last() uint64 { return r.first + uint64(r.n) - 1 }

func (l *eventLog) find(o Origin) (int, bool) {
	return slices.BinarySearchFunc(l.origins, o, func(ol *originLog, o Origin) int { return cmp.Compare(ol.origin, o) })
}

// open begins a group, whose events add takes in order.
func (l *eventLog) open(g Group, size int) *originLog {
	o := g[0].Dot.Origin
	i, ok := l.find(o)
	if !ok {
		l.origins = slices.Insert(l.origins, i, &originLog{origin: o, sorted: true})
	}
	ol := l.origins[i]
	ol.add(logRef{pos: l.start + uint64(l.places.Len()), first: g[0].Dot.Seq, n: int32(len(g)), bytes: int32(size)})
	l.events += len(g)
	l.bytes += size
	return ol
}

// add enters the next event of the group that open has begun. it is what the event has put; of one that puts nothing,
// what it has removed, or nil.
func (l *eventLog) add(ol *originLog, e *Event, it *Item) {
	if !e.Puts && (it == nil || it.Payload != "" || it.Path != e.Path || it.Key != e.Key) {
		it = &Item{Key: e.Key, Path: e.Path} // a payload would be kept for nothing
	}
	p := logged{item: it, of: ol}
	if n := len(e.Removes); n == 1 {
		p.removed = e.Removes[0]
	} else if n > 1 {
		p.several = new(slices.Clone(e.Removes))
	}
	l.places.Push(p)
}

func (ol *originLog) add(r logRef) {
	r.top = r.last()
	if n := ol.refs.Len(); n > 0 {
		top := ol.refs.At(n - 1).top
		ol.sorted = ol.sorted && r.first > top
		r.top = max(r.top, top)
	}
	ol.refs.Push(r)
}

// at returns the place at a position.
func (l *eventLog) at(pos uint64) *logged { return l.places.At(int(pos - l.start)) }

// group appends the group of one origin at its places to dst.
func (l *eventLog) group(dst Group, ol *originLog, r *logRef) Group {
	dst = slices.Grow(dst, int(r.n))
	for i := range uint64(r.n) {
		dst = append(dst, l.at(r.pos+i).event(Dot{Origin: ol.origin, Seq: r.first + i}))
	}
	return dst
}

// advance drops the front that is trimmed.
func (l *eventLog) advance() {
	for l.places.Len() > 0 && l.places.At(0).item == nil {
		l.places.Pop()
		l.start++
	}
}

// settle drops the trimmed front and the origins that have nothing left.
func (l *eventLog) settle() {
	l.advance()
	l.origins = slices.DeleteFunc(l.origins, func(ol *originLog) bool { return ol.refs.Len() == 0 })
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

// push appends a group, of which apply carries out each event and returns the item for add. It drops the oldest
// groups while the log is over its bounds. They go first, so that the rings need not be larger than the bounds.
func (l *eventLog) push(g Group, apply func(*Event) *Item) {
	size := min(g.size(), math.MaxInt32)
	l.shrink(l.eventsMax-len(g), l.bytesMax-size)
	ol := l.open(g, size)
	for i := range g {
		l.add(ol, &g[i], apply(&g[i]))
	}
	l.shrink(l.eventsMax, l.bytesMax) // it may be too large by itself
}

// shrink drops the oldest groups while the log is over bounds. Trimmed places count too: the ring itself is bounded.
func (l *eventLog) shrink(events, bytes int) {
	if l.events <= events && l.bytes <= bytes && l.places.Len() <= 2*l.eventsMax {
		return
	}
	emptied := false
	for l.advance(); l.places.Len() > 0 && (l.events > events || l.bytes > bytes || l.places.Len() > l.eventsMax); {
		of := l.places.At(0).of
		l.forget(of)
		emptied = emptied || of.refs.Len() == 0
		l.advance()
	}
	if emptied {
		l.settle()
	}
}

// forget takes the first group of one origin out of the log: the floor rises over it.
func (l *eventLog) forget(ol *originLog) {
	r := ol.refs.Pop()
	for i := range uint64(r.n) {
		if r.pos+i == l.start {
			l.places.Pop()
			l.start++
		} else {
			*l.at(r.pos + i) = logged{}
		}
	}
	l.events -= int(r.n)
	l.bytes -= int(r.bytes)
	l.floor.AddRange(ol.origin, r.first, r.last())
}

// trim drops the groups whose dots all of the clocks contain.
func (l *eventLog) trim(has []*Clock) {
	for _, ol := range l.origins {
		known := uint64(math.MaxUint64) // up to here all have everything: mostly that is all
		for _, c := range has {
			known = min(known, c.Row(ol.origin).Base())
		}
		lacks := func(c *Clock) bool { return !c.Row(ol.origin).HasRange(ol.refs.At(0).first, ol.refs.At(0).last()) }
		for ol.refs.Len() > 0 && (ol.refs.At(0).last() <= known || !slices.ContainsFunc(has, lacks)) {
			l.forget(ol)
		}
	}
	l.settle()
}

// missing returns the groups that a peer lacks, where clock is that of the store; see Store.Missing.
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
			if cursors[i].ref().pos < cursors[best].ref().pos {
				best = i
			}
		}
		r := cursors[best].ref()
		if bytes += int(r.bytes); bytes > maxBytes && len(gs) > 0 {
			return gs, true, true
		}
		gs = append(gs, l.group(nil, cursors[best].log, r))
		cursors[best].i++
		if !cursors[best].seek() {
			cursors = slices.Delete(cursors, best, best+1)
		}
	}
	return gs, false, true
}

// rightLog is a log that was found right. It says what that was, and shares nothing with the log.
type rightLog struct {
	clock, floor  *Clock // the clock is that of the store
	end           uint64 // the position of the next event
	events, bytes int
}

// check recomputes what the log keeps, clock is that of the store, and notes that it is right. Of what was found
// right before it looks only at whether it has gone to the floor.
func (l *eventLog) check(clock *Clock, was *rightLog) error {
	if was.clock == nil || clock != was.clock && !clock.Includes(was.clock) {
		*was = rightLog{clock: &Clock{}, floor: &Clock{}}
	}
	is := rightLog{clock, was.floor, l.start + uint64(l.places.Len()), l.events, l.bytes}
	if is == *was && l.floor.Equal(was.floor) {
		return nil
	}
	places, events, bytes, trimmed := 0, 0, 0, was.events
	for i := range l.places.Len() {
		if l.places.At(i).item != nil {
			places++
		}
	}
	all, risen := was.clock.Clone(), l.floor.Minus(was.floor)
	for _, ol := range l.origins {
		known, gone := all.Row(ol.origin).Max(), risen.Row(ol.origin).Max()
		for i := range ol.refs.Len() {
			r := ol.refs.At(i)
			if r.pos < was.end {
				trimmed -= int(r.n)
			} else if err := l.checkGroup(ol, r); err != nil {
				return err
			}
			for seq := r.first; seq <= r.last() && (r.pos >= was.end && r.first <= known || r.first <= gone); seq++ {
				d := Dot{Origin: ol.origin, Seq: seq}
				if r.pos >= was.end && all.Has(d) || risen.Has(d) {
					return fmt.Errorf("crdt: event %v is in the log twice, or in the floor", d)
				}
			}
			if r.pos >= was.end {
				all.AddRange(ol.origin, r.first, r.last())
				known = max(known, r.last())
			}
			events, bytes = events+int(r.n), bytes+int(r.bytes)
		}
	}
	all.Join(risen)
	if !all.Equal(clock) || !l.floor.Includes(was.floor) || uint64(trimmed) != risen.And(was.clock).Len() {
		return fmt.Errorf("crdt: log, with %d events trimmed, and floor %v make %v, the clock is %v",
			trimmed, &l.floor, all, clock)
	}
	if events != l.events || places != events || bytes != l.bytes {
		return fmt.Errorf("crdt: log counts %d events of %d bytes, has %d, of which groups have %d of %d",
			l.events, l.bytes, places, events, bytes)
	}
	if *was = is; !risen.Empty() {
		was.floor = l.floor.Clone()
	}
	return nil
}

// checkGroup looks at one group.
func (l *eventLog) checkGroup(ol *originLog, r *logRef) error {
	for i := range uint64(r.n) {
		p, d := l.at(r.pos+i), Dot{Origin: ol.origin, Seq: r.first + i}
		if p.item == nil || p.of != ol || p.item.Dot != d && !p.bare() {
			return fmt.Errorf("crdt: log of %v: no group %d-%d at position %d", ol.origin, r.first, r.last(), r.pos)
		}
	}
	var few [4]Event
	g := l.group(few[:0], ol, r)
	if size := g.size(); size != int(r.bytes) {
		return fmt.Errorf("crdt: log of %v: group %d-%d has %d bytes, counted as %d",
			ol.origin, r.first, r.last(), size, r.bytes)
	}
	return nil
}

// logCursor walks the groups of one origin that a peer lacks, by position.
type logCursor struct {
	log  *originLog
	peer *dots.Row
	i    int
}

func (c *logCursor) ref() *logRef { return c.log.refs.At(c.i) }

// seek moves on to the next group that the peer lacks and reports whether there is one. Where seqs
// are in order it jumps over what the peer has; where they are not, it jumps to the first place
// that can hold the peer's lowest missing seq and walks from there.
func (c *logCursor) seek() bool {
	if c.i == 0 {
		c.jump(c.peer.Base())
	}
	for c.i < c.log.refs.Len() {
		r := c.log.refs.At(c.i)
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
	refs := &c.log.refs
	if c.i < refs.Len() && refs.At(c.i).top > known {
		return // the usual case: the next one
	}
	c.i += sort.Search(refs.Len()-c.i, func(i int) bool { return refs.At(c.i+i).top > known })
}
