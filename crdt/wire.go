package crdt

import (
	"math"

	"github.com/coterie-go/coterie/crdt/head"
)

// Wire and row forms, all core-deterministic CBOR: one value has one encoding, and the decoders
// accept no other. They carry no version; the message or row around them does.
//
//	clock  [row…]                       rows by origin
//	row    [origin, base, (gap, run)…]  gap: missing seqs before a run, both at least 1
//	group  [origins, seq, event…]       origins: table in order of first use, the group's own first; seq: of the first event
//	       []                           the empty group, of an Update that changed nothing; not where CutGroups reads
//	event  [key, path, payload, removes]
//	         key      bytes, null: as the event before
//	         payload  bytes, null: the event only removes
//	         removes  [(index, n)…]     index into origins; n: the seq, for index 0 how far before the event's own
//	item   [origin, seq, key, path, payload]
//	items  [origins, (key, [(head, step, path, payload?)…])…]   neighbours with one key share it
//	         head     2·index into origins, plus 1 when a payload follows
//	         step     seq minus the seq of the item before it with that origin, as a signed integer modulo 2^64
//
// Keys, paths and payloads are byte strings: they may hold any bytes.

// AppendClock appends the encoding of c.
func AppendClock(dst []byte, c *Clock) []byte {
	dst = head.Append(dst, head.Array, uint64(len(c.rows)))
	for i := range c.rows {
		r := &c.rows[i]
		dst = head.Append(dst, head.Array, uint64(2+2*len(r.above)))
		dst = head.Append(dst, head.Uint, uint64(r.origin))
		dst = head.Append(dst, head.Uint, r.base)
		end := r.base
		for _, s := range r.above {
			dst = head.Append(dst, head.Uint, s.first-end-1)
			dst = head.Append(dst, head.Uint, s.last-s.first+1)
			end = s.last
		}
	}
	return dst
}

// ClockSize is the number of bytes that AppendClock appends.
func ClockSize(c *Clock) int {
	n := headLen(uint64(len(c.rows)))
	for i := range c.rows {
		n += c.rows[i].size()
	}
	return n
}

// size is the number of bytes of an encoded row.
func (r *clockRow) size() int {
	n := headLen(uint64(2+2*len(r.above))) + headLen(uint64(r.origin)) + headLen(r.base)
	end := r.base
	for _, s := range r.above {
		n += headLen(s.first-end-1) + headLen(s.last-s.first+1)
		end = s.last
	}
	return n
}

// CutBytes cuts c in two: its first dots, which take about as many bytes as wanted and are at least
// one run, and those behind them.
func (c *Clock) CutBytes(most int) (first, rest *Clock) {
	var last Dot
	for r := range c.Ranges() {
		if most -= headLen(uint64(r.Origin)) + 2*headLen(r.Last); most < 0 && last != (Dot{}) {
			return c.UpTo(last), c.After(last)
		}
		last = Dot{r.Origin, r.Last}
	}
	return c, &Clock{}
}

// DecodeClock decodes a clock that fills b.
func DecodeClock(b []byte) (*Clock, error) {
	r := cborReader{b: b}
	c := readClock(&r)
	if err := r.end(); err != nil {
		return nil, err
	}
	return c, nil
}

// CutClock decodes a clock from the front of b and returns what follows it.
func CutClock(b []byte) (c *Clock, rest []byte, err error) {
	r := cborReader{b: b}
	c = readClock(&r)
	return c, r.b, r.err
}

func readClock(r *cborReader) *Clock {
	n := r.array(ClockOriginsMax, 3)
	c := &Clock{rows: make([]clockRow, 0, n)}
	for range n {
		row := readClockRow(r)
		if k := len(c.rows); k > 0 && c.rows[k-1].origin >= row.origin {
			r.fail("clock rows out of order")
		}
		if r.err != nil {
			return &Clock{}
		}
		c.rows = append(c.rows, row)
	}
	return c
}

func readClockRow(r *cborReader) clockRow {
	n := r.array(2+2*ClockRunsMax, 1)
	if n < 2 || n%2 != 0 {
		r.fail("clock row of %d", n)
		return clockRow{}
	}
	row := clockRow{origin: Origin(r.uint()), base: r.uint()}
	if n == 2 && row.base == 0 {
		r.fail("empty clock row")
	}
	if n > 2 {
		row.above = make([]span, 0, n/2-1)
	}
	end := row.base
	for range n/2 - 1 {
		gap, run := r.uint(), r.uint()
		first, last := end+gap+1, end+gap+run
		if gap == 0 || run == 0 || end+gap < end || last < end+gap {
			r.fail("clock run of %d after %d", run, gap)
			return clockRow{}
		}
		row.above = append(row.above, span{first, last})
		end = last
	}
	return row
}

// AppendGroup appends the encoding of g. The empty group, which an Update returns that changed
// nothing, has an encoding too: DecodeGroup reads it. CutGroups refuses it, as no peer has a use
// for a group without an event.
func AppendGroup(dst []byte, g Group) []byte {
	if len(g) == 0 {
		return append(dst, head.Array)
	}
	table := &originTable{}
	table.addGroup(g)
	dst = head.Append(dst, head.Array, uint64(2+len(g)))
	dst = table.append(dst)
	dst = head.Append(dst, head.Uint, g[0].Dot.Seq)
	for i := range g {
		e := &g[i]
		dst = append(dst, head.Array|4)
		if i > 0 && e.Key == g[i-1].Key {
			dst = append(dst, head.Null)
		} else {
			dst = appendBytes(dst, e.Key)
		}
		dst = appendBytes(dst, e.Path)
		if e.Puts {
			dst = appendBytes(dst, e.Payload)
		} else {
			dst = append(dst, head.Null)
		}
		dst = head.Append(dst, head.Array, uint64(2*len(e.Removes)))
		for _, d := range e.Removes {
			k := table.index(d.Origin)
			n := d.Seq
			if k == 0 {
				n = e.Dot.Seq - d.Seq
			}
			dst = head.Append(head.Append(dst, head.Uint, uint64(k)), head.Uint, n)
		}
	}
	return dst
}

func (t *originTable) addGroup(g Group) {
	t.add(g[0].Dot.Origin)
	for i := range g {
		for _, d := range g[i].Removes {
			t.add(d.Origin)
		}
	}
}

// DecodeGroup decodes a group that fills b. Its dots are consecutive and its sizes are within
// limits. Apply checks the rest. The empty group comes back as nil.
func DecodeGroup(b []byte) (Group, error) {
	if len(b) == 1 && b[0] == head.Array {
		return nil, nil
	}
	r := cborReader{b: b}
	g := readGroup(&r, &originTable{})
	if err := r.end(); err != nil {
		return nil, err
	}
	return g, nil
}

// CutGroups decodes n groups from the front of b and returns what follows them. Neighbours of one
// key share its string.
func CutGroups(b []byte, n int) (gs []Group, rest []byte, err error) {
	r, t := cborReader{b: b}, originTable{}
	gs = make([]Group, 0, max(0, min(n, len(b)/groupBytesMin)))
	for i := range n {
		if len(r.events) == 0 {
			r.events = make([]Event, max(0, min(n-i, eventsAtOnce, len(r.b)/groupBytesMin)))
		}
		g := readGroup(&r, &t)
		if r.err != nil {
			return nil, r.b, r.err
		}
		gs = append(gs, g)
	}
	return gs, r.b, nil
}

// eventsAtOnce is how many groups of one event share an allocation. They come and leave the log
// together.
const eventsAtOnce = 16

// readGroup reads a group with the help of a table that it empties first.
func readGroup(r *cborReader, t *originTable) Group {
	n := r.array(2+EventsMax, 1) - 2
	readTable(r, t)
	seq := r.uint()
	if n < 1 || n > len(r.b)/eventBytesMin+1 || seq == 0 || seq+uint64(n) < seq || t.n == 0 {
		r.fail("group of %d at %d", n, seq)
		return nil
	}
	t.used = 1 // by the group itself
	var g Group
	if n == 1 && len(r.events) > 0 {
		g, r.events = r.events[:0:1], r.events[1:]
	} else {
		g = make(Group, 0, n)
	}
	for i := range n {
		e := Event{Dot: Dot{t.id(0), seq + uint64(i)}}
		r.event(&e, g, t)
		if r.err != nil {
			return nil
		}
		g = append(g, e)
	}
	if t.used != t.n {
		r.fail("group's table names %d origins, it uses %d", t.n, t.used)
		return nil
	}
	return g
}

// What the shortest event takes: head, null, empty path, null or empty payload, empty removes; and
// the shortest group: head, table of one, seq, event.
const (
	eventBytesMin = 5
	groupBytesMin = 4 + eventBytesMin
)

// event reads one event whose dot is set; before is the events so far.
func (r *cborReader) event(e *Event, before Group, t *originTable) {
	if r.array(4, 1) != 4 {
		r.fail("no event")
		return
	}
	prev := ""
	if len(before) > 0 {
		prev = before[len(before)-1].Key
	}
	if len(before) > 0 && r.null() {
		e.Key = prev
	} else {
		e.Key = r.sharedKey()
		if len(before) > 0 && e.Key == prev {
			r.fail("key %q spelt out again", prev)
		}
	}
	start := r.b
	path := r.bytes(PathMax)
	if r.null() {
		e.Path = string(path)
	} else {
		e.Puts = true
		payload := r.bytes(PayloadMax)
		e.Path, e.Payload = twoStrings(start, r.b, path, payload)
	}
	n := r.array(2*RemovesMax, 1)
	if n%2 != 0 {
		r.fail("removes in %d words", n)
		return
	}
	switch {
	case n == 2 && len(r.dots)+len(r.events) > 0:
		if len(r.dots) == 0 {
			r.dots = make([]Dot, 1+len(r.events))
		}
		e.Removes, r.dots = r.dots[:0:1], r.dots[1:]
	case n > 0:
		e.Removes = make([]Dot, 0, n/2)
	}
	for range n / 2 {
		k, m := r.uint(), r.uint()
		d := Dot{Origin: t.use(r, k), Seq: m}
		if k == 0 {
			d.Seq = e.Dot.Seq - m
		}
		if r.err != nil {
			return
		}
		e.Removes = append(e.Removes, d)
	}
}

// sharedKey reads a key and returns the string of the last one when it is the same.
func (r *cborReader) sharedKey() string {
	if raw := r.bytes(KeyMax); string(raw) != r.key {
		r.key = string(raw)
	}
	return r.key
}

// twoStrings copies two byte strings that are neighbours in the input in one allocation, with the
// second one's head between them.
func twoStrings(from, to, a, b []byte) (string, string) {
	if len(b) == 0 {
		return string(a), ""
	}
	s := string(from[:len(from)-len(to)])
	lead := len(s) - len(b)
	at := headLen(uint64(len(a)))
	return s[at : at+len(a)], s[lead:]
}

func headLen(n uint64) int {
	switch {
	case n < 24:
		return 1
	case n <= math.MaxUint8:
		return 2
	case n <= math.MaxUint16:
		return 3
	case n <= math.MaxUint32:
		return 5
	}
	return 9
}

// AppendItem appends the encoding of one item.
func AppendItem(dst []byte, it *Item) []byte {
	dst = append(dst, head.Array|5)
	dst = head.Append(dst, head.Uint, uint64(it.Dot.Origin))
	dst = head.Append(dst, head.Uint, it.Dot.Seq)
	dst = appendBytes(dst, it.Key)
	dst = appendBytes(dst, it.Path)
	return appendBytes(dst, it.Payload)
}

// DecodeItem decodes an item that fills b.
func DecodeItem(b []byte) (Item, error) {
	it, rest, err := CutItem(b)
	if err == nil && len(rest) > 0 {
		r := cborReader{b: rest}
		return Item{}, r.end()
	}
	return it, err
}

// CutItem decodes an item from the front of b and returns what follows it.
func CutItem(b []byte) (it Item, rest []byte, err error) {
	r := cborReader{b: b}
	if r.array(5, 1) != 5 {
		r.fail("no item")
	}
	it.Dot = Dot{Origin(r.uint()), r.uint()}
	it.Key = string(r.bytes(KeyMax))
	start := r.b
	path, payload := r.bytes(PathMax), r.bytes(PayloadMax)
	if it.Dot.Seq == 0 {
		r.fail("item without a dot")
	}
	if r.err != nil {
		return Item{}, nil, r.err
	}
	it.Path, it.Payload = twoStrings(start, r.b, path, payload)
	return it, r.b, nil
}
