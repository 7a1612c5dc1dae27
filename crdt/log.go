package crdt

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/coterie-go/coterie/crdt/ring"
	"github.com/coterie-go/coterie/crdt/runs"
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
	n       int32      // how many events its group has, if it is the first of them; else less 0 by those before it
	bytes   uint32     // of the group, estimated, if it is the first
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

// originLog is where the events of one origin stand.
type originLog struct {
	origin Origin
	runs   runs.List
}

func (l *eventLog) find(o Origin) (int, bool) {
	return slices.BinarySearchFunc(l.origins, o, func(ol *originLog, o Origin) int { return cmp.Compare(ol.origin, o) })
}

// of returns the places of an origin, mostly that of the last event.
func (l *eventLog) of(o Origin) *originLog {
	if n := l.places.Len(); n > 0 {
		if last := l.places.At(n - 1); last.item != nil && last.of.origin == o {
			return last.of
		}
	}
	i, ok := l.find(o)
	if !ok {
		l.origins = slices.Insert(l.origins, i, &originLog{origin: o})
	}
	return l.origins[i]
}

// open begins a group, whose events add takes in order.
func (l *eventLog) open(g Group, size int) *originLog {
	ol := l.of(g[0].Dot.Origin)
	ol.runs.Add(l.end(), g[0].Dot.Seq, uint32(len(g)))
	l.events += len(g)
	l.bytes += size
	return ol
}

// end is the position of the next event.
func (l *eventLog) end() uint64 { return l.start + uint64(l.places.Len()) }

// add enters the next event of the group that open has begun, at a place that says whose it is and where in its group.
// it is what the event has put; of one that puts nothing, what it has removed, or nil.
func (l *eventLog) add(p logged, e *Event, it *Item) {
	if !e.Puts && (it == nil || it.Payload != "" || it.Path != e.Path || it.Key != e.Key) {
		it = &Item{Key: e.Key, Path: e.Path} // a payload would be kept for nothing
	}
	p.item = it
	if n := len(e.Removes); n == 1 {
		p.removed = e.Removes[0]
	} else if n > 1 {
		p.several = new(slices.Clone(e.Removes))
	}
	l.places.Push(p)
}

// at returns the place at a position.
func (l *eventLog) at(pos uint64) *logged { return l.places.At(int(pos - l.start)) }

// Group implements runs.Groups.
func (l *eventLog) Group(pos uint64) (events, before uint64) {
	if n := l.at(pos).n; n < 0 {
		before = uint64(-n)
	}
	return uint64(l.at(pos - before).n), before
}

// group appends the group of one origin that begins at a position, with the seq of its first event, to dst.
func (l *eventLog) group(dst Group, ol *originLog, pos, first uint64) Group {
	n := int(l.at(pos).n)
	dst = slices.Grow(dst, n)
	for i := range uint64(n) {
		dst = append(dst, l.at(pos+i).event(Dot{Origin: ol.origin, Seq: first + i}))
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
	l.origins = slices.DeleteFunc(l.origins, func(ol *originLog) bool { return ol.runs.Len() == 0 })
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
	for i, p := 0, (logged{of: ol, n: int32(len(g)), bytes: uint32(size)}); i < len(g); i++ {
		l.add(p, &g[i], apply(&g[i]))
		p.n, p.bytes = int32(-i-1), 0
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
		emptied = emptied || of.runs.Len() == 0
		l.advance()
	}
	if emptied {
		l.settle()
	}
}

// forget takes the first group of one origin out of the log: the floor rises over it.
func (l *eventLog) forget(ol *originLog) {
	r := ol.runs.At(0)
	pos, first := r.Pos, r.First
	n, bytes := l.at(pos).n, l.at(pos).bytes
	for end := pos + uint64(n); pos < end; pos++ {
		if pos == l.start {
			l.places.Pop()
			l.start++
		} else {
			*l.at(pos) = logged{}
		}
	}
	ol.runs.Take(uint32(n))
	l.events -= int(n)
	l.bytes -= int(bytes)
	l.floor.AddRange(ol.origin, first, first+uint64(n)-1)
}

// front is the seqs of the first group of one origin.
func (l *eventLog) front(ol *originLog) (first, last uint64) {
	r := ol.runs.At(0)
	return r.First, r.First + uint64(l.at(r.Pos).n) - 1
}

// trim drops the groups whose dots all of the clocks contain.
func (l *eventLog) trim(has []*Clock) {
	for _, ol := range l.origins {
		known := uint64(math.MaxUint64) // up to here all have everything: mostly that is all
		for _, c := range has {
			known = min(known, c.Row(ol.origin).Base())
		}
		for ol.runs.Len() > 0 {
			first, last := l.front(ol)
			lacks := func(c *Clock) bool { return !c.Row(ol.origin).HasRange(first, last) }
			if last > known && slices.ContainsFunc(has, lacks) {
				break
			}
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
	type cursor struct {
		runs.Cursor
		of *originLog
	}
	var cursors []cursor
	for _, ol := range l.origins {
		row := peer.Row(ol.origin)
		c := cursor{runs.NewCursor(&ol.runs, row, l), ol}
		if !row.Includes(clock.Row(ol.origin)) && c.Seek() {
			cursors = append(cursors, c)
		}
	}
	for bytes := 0; len(cursors) > 0; {
		best := 0
		pos, first := cursors[0].Place()
		for i := range cursors {
			if p, f := cursors[i].Place(); p < pos {
				best, pos, first = i, p, f
			}
		}
		if bytes += int(l.at(pos).bytes); bytes > maxBytes && len(gs) > 0 {
			return gs, true, true
		}
		gs = append(gs, l.group(nil, cursors[best].of, pos, first))
		if cursors[best].Next(); !cursors[best].Seek() {
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
	is := rightLog{clock, was.floor, l.end(), l.events, l.bytes}
	if is == *was && l.floor.Equal(was.floor) {
		return nil
	}
	places, events, bytes, trimmed := 0, 0, 0, was.events
	for i := range l.places.Len() {
		if p := l.places.At(i); p.item != nil {
			places++
			events += int(max(p.n, 0))
			bytes += int(p.bytes)
		}
	}
	all, risen := was.clock.Clone(), l.floor.Minus(was.floor)
	for _, ol := range l.origins {
		known, gone := all.Row(ol.origin).Max(), risen.Row(ol.origin).Max()
		for i := range ol.runs.Len() {
			r := ol.runs.At(i)
			old := min(max(was.end, r.Pos)-r.Pos, uint64(r.N)) // so many of its events
			trimmed -= int(old)
			if err := l.checkGroups(ol, r, old); err != nil {
				return err
			}
			from := old
			if r.First <= gone {
				from = 0
			}
			for seq := r.First + from; seq <= min(r.Last(), max(known, gone)); seq++ {
				d := Dot{Origin: ol.origin, Seq: seq}
				if risen.Has(d) || seq >= r.First+old && all.Has(d) {
					return fmt.Errorf("crdt: event %v is in the log twice, or in the floor", d)
				}
			}
			if old < uint64(r.N) {
				all.AddRange(ol.origin, r.First+old, r.Last())
				known = max(known, r.Last())
			}
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

// checkGroups looks at the groups of a run, its first events aside.
func (l *eventLog) checkGroups(ol *originLog, r *runs.Run, but uint64) error {
	for left := uint64(r.N) - but; left > 0; {
		pos, first := r.End()-left, r.Last()+1-left
		n := uint64(max(l.at(pos).n, 0))
		if n == 0 || n > left {
			return fmt.Errorf("crdt: log of %v: no group begins at position %d, seq %d", ol.origin, pos, first)
		}
		for i := range n {
			p, d := l.at(pos+i), Dot{Origin: ol.origin, Seq: first + i}
			if p.item == nil || p.of != ol || p.item.Dot != d && !p.bare() || i > 0 && int64(p.n) != -int64(i) {
				return fmt.Errorf("crdt: log of %v: no event %d of a group at position %d", ol.origin, d.Seq, pos)
			}
		}
		var few [4]Event
		if size := l.group(few[:0], ol, pos, first).size(); size != int(l.at(pos).bytes) {
			return fmt.Errorf("crdt: log of %v: group at %d has %d bytes, counted as %d",
				ol.origin, first, size, l.at(pos).bytes)
		}
		left -= n
	}
	return nil
}
