package crdt

import (
	"bytes"
	"fmt"

	"github.com/coterie-go/coterie/crdt/cbor"
	"github.com/coterie-go/coterie/crdt/dots"
	"github.com/coterie-go/coterie/crdt/origins"
)

// Wire and row forms, all core-deterministic CBOR: one value has one encoding, and the decoders accept no other. They
// carry no version; the message or row around them does. Package dots has the form of clocks.
//
//	group  [origins, seq, event…]       origins: table in order of first use, its own first; seq: of the first event
//	       []                           the empty group, of an Update that changed nothing; not where ReadGroups reads
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

// DecodeClock decodes a clock that fills b.
func DecodeClock(b []byte) (*Clock, error) {
	r := cbor.NewReader(b)
	c := dots.Read(r)
	if err := r.End(); err != nil {
		return nil, malformed(err)
	}
	return c, nil
}

// malformed wraps the fault of a reader.
func malformed(err error) error { return fmt.Errorf("%w: %w", ErrMalformed, err) }

// AppendGroup appends the encoding of g. The empty group, which an Update returns that changed nothing, has an
// encoding too: DecodeGroup reads it. ReadGroups refuses it, as no peer has a use for a group without an event.
func AppendGroup(dst []byte, g Group) []byte {
	if len(g) == 0 {
		return append(dst, emptyGroup...)
	}
	table := &origins.Table{}
	addGroup(table, g)
	dst = cbor.AppendArray(dst, 2+len(g))
	dst = table.Append(dst)
	dst = cbor.AppendUint(dst, g[0].Dot.Seq)
	for i := range g {
		e := &g[i]
		dst = cbor.AppendArray(dst, 4)
		if i > 0 && e.Key == g[i-1].Key {
			dst = cbor.AppendNull(dst)
		} else {
			dst = cbor.AppendBytes(dst, e.Key)
		}
		dst = cbor.AppendBytes(dst, e.Path)
		if e.Puts {
			dst = cbor.AppendBytes(dst, e.Payload)
		} else {
			dst = cbor.AppendNull(dst)
		}
		dst = cbor.AppendArray(dst, 2*len(e.Removes))
		for _, d := range e.Removes {
			k := table.Index(d.Origin)
			n := d.Seq
			if k == 0 {
				n = e.Dot.Seq - d.Seq
			}
			dst = cbor.AppendUint(cbor.AppendUint(dst, uint(k)), n)
		}
	}
	return dst
}

// addGroup enters the origins of a group.
func addGroup(t *origins.Table, g Group) {
	t.Add(g[0].Dot.Origin)
	for i := range g {
		for _, d := range g[i].Removes {
			t.Add(d.Origin)
		}
	}
}

// DecodeGroup decodes a group that fills b. Its dots are consecutive and its sizes are within
// limits. Apply checks the rest. The empty group comes back as nil.
func DecodeGroup(b []byte) (Group, error) {
	if bytes.Equal(b, emptyGroup) {
		return nil, nil
	}
	r := groupReader{Reader: *cbor.NewReader(b)}
	g := r.group()
	if err := r.End(); err != nil {
		return nil, malformed(err)
	}
	return g, nil
}

// ReadGroups reads n groups, of which each has an event. Neighbours of one key share its string. It
// returns nil after a fault.
func ReadGroups(from *cbor.Reader, n int) []Group {
	r := groupReader{Reader: *from}
	gs := r.groups(n)
	*from = r.Reader
	return gs
}

func (r *groupReader) groups(n int) []Group {
	gs := make([]Group, 0, max(0, min(n, r.Len()/groupBytesMin)))
	for i := range n {
		if len(r.events) == 0 {
			r.events = make([]Event, max(0, min(n-i, eventsAtOnce, r.Len()/groupBytesMin)))
		}
		g := r.group()
		if r.Err() != nil {
			return nil
		}
		gs = append(gs, g)
	}
	return gs
}

var emptyGroup = cbor.AppendArray(nil, 0)

// groupReader reads groups that follow each other. Its Reader is a value: the compiler would take one
// by pointer for something that stays, as the events do, and put it in the heap.
type groupReader struct {
	cbor.Reader
	table origins.Table // of the group that is read
	key   string        // the last one read, see shared
	path  string        // likewise, see pathAndPayload

	events []Event // room for the groups of one event to come
	dots   []Dot   // room for what they remove
}

// eventsAtOnce is how many groups of one event share an allocation. They come and leave the log together.
const eventsAtOnce = 16

// group reads a group that has an event.
func (r *groupReader) group() Group {
	n := r.Array(2+EventsMax) - 2
	t := &r.table
	t.Read(&r.Reader)
	seq := r.Uint()
	if n < 1 || n > r.Len()/eventBytesMin+1 || seq == 0 || seq+uint64(n) < seq || t.Len() == 0 {
		r.Fail("group of %d at %d", n, seq)
		return nil
	}
	t.Use(&r.Reader, 0) // by the group itself
	var g Group
	if n == 1 && len(r.events) > 0 {
		g, r.events = r.events[:0:1], r.events[1:]
	} else {
		g = make(Group, 0, n)
	}
	for i := range n {
		g = append(g, Event{Dot: Dot{Origin: t.ID(0), Seq: seq + uint64(i)}})
		if r.event(&g[i], g[:i]); r.Err() != nil {
			return nil
		}
	}
	t.End(&r.Reader, "group")
	return g
}

// What the shortest event takes: head, null, empty path, null or empty payload, empty removes; and
// the shortest group: head, table of one, seq, event.
const (
	eventBytesMin = 5
	groupBytesMin = 4 + eventBytesMin
)

// event reads one event whose dot is set; before is the events so far.
func (r *groupReader) event(e *Event, before Group) {
	r.Tuple(4)
	prev := ""
	if len(before) > 0 {
		prev = before[len(before)-1].Key
	}
	if len(before) > 0 && r.Null() {
		e.Key = prev
	} else {
		e.Key = shared(r.Bytes(KeyMax), &r.key)
		if len(before) > 0 && e.Key == prev {
			r.Fail("key %q spelt out again", prev)
		}
	}
	start := r.Rest()
	path := r.Bytes(PathMax)
	if r.Null() {
		e.Path = shared(path, &r.path)
	} else {
		e.Puts = true
		e.Path, e.Payload = r.pathAndPayload(start, path, r.Bytes(PayloadMax))
	}
	r.removes(e)
}

// pathAndPayload copies both, which stand at the start of what was read since, in one allocation. A
// path that is that of the event before shares its string, as long as little else hangs on it.
func (r *groupReader) pathAndPayload(start, path, payload []byte) (string, string) {
	if string(path) == r.path {
		return r.path, string(payload)
	}
	both := start[:len(start)-r.Len()]
	p, q := twoStrings(both, path, payload)
	if r.path = ""; len(both) <= sharedMax {
		r.path = p
	}
	return p, q
}

// sharedMax bounds the bytes that a shared path holds in memory beside itself.
const sharedMax = 64

// removes reads what an event removes.
func (r *groupReader) removes(e *Event) {
	n := r.Array(2 * RemovesMax)
	if n%2 != 0 {
		r.Fail("removes in %d words", n)
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
		k, m := r.Uint(), r.Uint()
		d := Dot{Origin: r.table.Use(&r.Reader, k), Seq: m}
		if k == 0 {
			d.Seq = e.Dot.Seq - m
		}
		if r.Err() != nil {
			return
		}
		e.Removes = append(e.Removes, d)
	}
}

// shared returns the string of the last one if raw is the same, and makes it the last one.
func shared(raw []byte, last *string) string {
	if string(raw) != *last {
		*last = string(raw)
	}
	return *last
}

// twoStrings copies two byte strings in one allocation. both is their encodings, the one after the other.
func twoStrings(both, a, b []byte) (string, string) {
	if len(b) == 0 {
		return string(a), ""
	}
	s := string(both)
	lead := len(s) - len(b)
	at := cbor.HeadLen(uint64(len(a)))
	return s[at : at+len(a)], s[lead:]
}

// AppendItem appends the encoding of one item.
func AppendItem(dst []byte, it *Item) []byte {
	dst = cbor.AppendArray(dst, 5)
	dst = cbor.AppendUint(cbor.AppendUint(dst, it.Dot.Origin), it.Dot.Seq)
	dst = cbor.AppendBytes(dst, it.Key)
	dst = cbor.AppendBytes(dst, it.Path)
	return cbor.AppendBytes(dst, it.Payload)
}

// ItemSizeMax bounds the bytes that AppendItem appends.
func ItemSizeMax(it *Item) int { return itemHeadsMax + len(it.Key) + len(it.Path) + len(it.Payload) }

// itemHeadsMax is the head of the array, both numbers of a dot, and the heads of three byte strings.
const itemHeadsMax = 1 + 2*9 + 3*5

// DecodeItem decodes an item that fills b. If it is of the key, as the one before it may be, it shares that string.
func DecodeItem(b []byte, key string) (Item, error) {
	r := cbor.NewReader(b)
	r.Tuple(5)
	it := Item{Dot: Dot{Origin: Origin(r.Uint()), Seq: r.Uint()}, Key: shared(r.Bytes(KeyMax), &key)}
	start := r.Rest()
	path, payload := r.Bytes(PathMax), r.Bytes(PayloadMax)
	if it.Dot.Seq == 0 {
		r.Fail("item without a dot")
	}
	both := start[:len(start)-r.Len()]
	if err := r.End(); err != nil {
		return Item{}, malformed(err)
	}
	it.Path, it.Payload = twoStrings(both, path, payload)
	return it, nil
}
