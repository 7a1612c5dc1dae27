package push

import (
	"sort"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/fifo"
)

// Group is one Update's group, encoded once for all peers.
type Group struct {
	Events crdt.Group
	Enc    []byte
	Asks   bool   // its writer wants to know what those have that acknowledge it
	at     uint64 // bytes of all own groups before it
}

func (g *Group) first() uint64 { return g.Events[0].Dot.Seq }
func (g *Group) last() uint64  { return g.Events[len(g.Events)-1].Dot.Seq }

// groupOverhead is what a group is taken to cost beside its bytes.
const groupOverhead = 64

func (g *Group) size() int { return len(g.Enc) + groupOverhead }

// Outbox keeps the latest own groups, consecutive and in order, for pushing. It is a window: a peer
// that falls out of it is served from the store's log. So an absent peer does not make it grow.
type Outbox struct {
	groups fifo.Queue[Group]
	bytes  int    // of groups
	total  uint64 // of all that were ever added
	chunk  []byte // what the next encodings are appended to
}

// Add takes a group that an Update has just made. It drops the oldest groups above bytesMax, but
// keeps one.
func (o *Outbox) Add(events crdt.Group, asks bool, bytesMax int) {
	g := Group{Events: events, Enc: o.encode(events), Asks: asks, at: o.total}
	o.groups.Push(g)
	o.total += uint64(g.size())
	o.bytes += g.size()
	for o.bytes > bytesMax && o.groups.Len() > 1 {
		o.drop()
	}
}

func (o *Outbox) drop() {
	o.bytes -= o.groups.Items()[0].size()
	o.groups.Pop(1)
}

// chunkBytes is how much is allocated at once for encodings.
const chunkBytes = 16 << 10

// encode returns the encoding of a group, which shares its memory with those made before and after
// it.
func (o *Outbox) encode(g crdt.Group) []byte {
	n := Weigh(g)
	if n > chunkBytes/4 {
		return crdt.AppendGroup(make([]byte, 0, n), g)
	}
	if n > cap(o.chunk)-len(o.chunk) {
		o.chunk = make([]byte, 0, chunkBytes)
	}
	at := len(o.chunk)
	o.chunk = crdt.AppendGroup(o.chunk, g)
	return o.chunk[at:len(o.chunk):len(o.chunk)]
}

// Len returns how many groups are kept.
func (o *Outbox) Len() int { return o.groups.Len() }

// Bytes returns what the groups that are kept cost.
func (o *Outbox) Bytes() int { return o.bytes }

// Forget drops the groups up to an event, which every peer has applied.
func (o *Outbox) Forget(have uint64) {
	for o.groups.Len() > 0 && o.groups.Items()[0].last() <= have {
		o.drop()
	}
}

// After returns the groups beyond an event. They are valid until the next change.
func (o *Outbox) After(sent uint64) []Group {
	all := o.groups.Items()
	if n := len(all); n == 0 || all[n-1].last() <= sent {
		return nil
	}
	return all[sort.Search(len(all), func(i int) bool { return all[i].last() > sent }):]
}

// Behind returns the bytes of the groups beyond an event; ok is false when some that come before
// those have been forgotten.
func (o *Outbox) Behind(have uint64) (bytes int, ok bool) {
	rest := o.After(have)
	if len(rest) == 0 {
		return 0, true
	}
	return int(o.total - rest[0].at), rest[0].first() <= have+1
}

// Backlog is Behind without the groups of this origin that are on their way to the peer in parts:
// the bounds of Flows hold for those.
func (o *Outbox) Backlog(have uint64, flows *Flows, space uint8, self crdt.Origin) (bytes int, ok bool) {
	later := 0
	flows.Groups(space, self, func(r crdt.Range, size int) {
		switch {
		case r.First == have+1:
			have = r.Last
		case r.First > have && o.keeps(r.First):
			later += size
		}
	})
	bytes, ok = o.Behind(have)
	return bytes - later, ok
}

// keeps reports whether the group of an event is kept.
func (o *Outbox) keeps(seq uint64) bool {
	return o.groups.Len() > 0 && o.groups.Items()[0].first() <= seq
}

// Weigh estimates the bytes that a group holds.
func Weigh(g crdt.Group) int {
	n := 0
	for i := range g {
		n += 64 + len(g[i].Key) + len(g[i].Path) + len(g[i].Payload) + 16*len(g[i].Removes)
	}
	return n
}

// Bundle is the groups that go in one message.
type Bundle struct {
	Groups []crdt.Group
	Enc    [][]byte // of each group
	Asks   bool     // one of them does
	Last   uint64   // event
	Bytes  int
}

// Bundled puts as many groups as fit into one frame into one bundle; one that does not fit alone
// goes alone, to be cut in transit.
func Bundled(todo []Group, frameMax int) Bundle {
	n, bytes := 0, 0
	for n < len(todo) && (n == 0 || bytes+len(todo[n].Enc) <= frameMax) {
		bytes += len(todo[n].Enc)
		n++
	}
	b := Bundle{Groups: make([]crdt.Group, n), Enc: make([][]byte, n), Last: todo[n-1].last(), Bytes: bytes}
	for i := range n {
		b.Groups[i], b.Enc[i] = todo[i].Events, todo[i].Enc
		b.Asks = b.Asks || todo[i].Asks
	}
	return b
}

// First returns the first event of the groups that are kept; ok is false when none is.
func (o *Outbox) First() (seq uint64, ok bool) {
	if o.groups.Len() == 0 {
		return 0, false
	}
	return o.groups.Items()[0].first(), true
}
