package sharding

import (
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/sharding/codec"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// routes says where the messages of each shard go. Senders read it without a lock; the control loop
// changes it.
type routes struct {
	self    uint64
	ctl     controller
	out     *outbox
	asks    *asks
	decoder decoder
	ended   chan struct{} // closed when nothing is passed on any more

	hash   protocol.Hash
	slots  []atomic.Pointer[route]
	lanes  []atomic.Pointer[shard] // takes what other nodes have sent here, which a local hand-off does not hold back; nil: that waits too
	hosted []atomic.Pointer[shard] // runs here, whatever its messages do

	limit bufferLimit
}

// route is immutable, except that a buffer fills. Exactly one of its fields is set; a nil route is
// like one with an empty buffer.
type route struct {
	local  *shard  // hosted here
	remote uint64  // the node that hosts it
	buffer *buffer // the home is unknown or moving: messages wait
}

func newRoutes(shards int, hash protocol.Hash) *routes {
	return &routes{
		hash:   hash,
		slots:  make([]atomic.Pointer[route], shards),
		lanes:  make([]atomic.Pointer[shard], shards),
		hosted: make([]atomic.Pointer[shard], shards),
	}
}

// shards lists those that run here.
func (t *routes) shards() []*shard {
	all := make([]*shard, 0, 16)
	for i := range t.hosted {
		if s := t.hosted[i].Load(); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// unhost takes out a shard that runs here no more. Its messages go where the route says.
func (t *routes) unhost(s *shard) {
	t.lanes[s.number].CompareAndSwap(s, nil)
	t.hosted[s.number].CompareAndSwap(s, nil)
}

// shardOf is the shard of an id.
func (t *routes) shardOf(id string) uint32 {
	return uint32(t.hash.ShardOf(protocol.EntityID(id), len(t.slots)))
}

// home is the node that a shard's route leads to; ok is false while messages wait.
func (t *routes) home(number uint32) (home membership.UID, ok bool) {
	rt := t.slots[number].Load()
	switch {
	case rt == nil || rt.buffer != nil:
		return 0, false
	case rt.local != nil:
		return membership.UID(t.self), true
	}
	return membership.UID(rt.remote), true
}

// buffering makes the shard's messages wait, if they do not already, and returns their buffer. A
// buffer that was about to be flushed is told to stop.
func (t *routes) buffering(number uint32) *buffer {
	slot := &t.slots[number]
	for {
		old := slot.Load()
		if old != nil && old.buffer != nil {
			if old.buffer.retarget(nil) {
				return old.buffer
			}
			continue // opened meanwhile
		}
		b := bufferAfter(old)
		if slot.CompareAndSwap(old, &route{buffer: b}) {
			return b
		}
	}
}

// buffer holds the messages of one shard, in order. Its lock orders senders against the flush: a
// sender that finds it open loads the route again, so no message overtakes those that waited.
type buffer struct {
	mu       sync.Mutex
	open     bool   // emptied and replaced in the table; never takes messages again
	target   *route // where to flush to; nil: not yet
	messages []bufferedMessage
	// returned goes before parked: what was on its way to the node after, and never left this one.
	// Once something else has been sent it would come too late: then after is 0.
	returned []bufferedMessage
	after    uint64
}

// bufferAfter is the buffer that takes the place of a route.
func bufferAfter(old *route) *buffer {
	if old == nil {
		return new(buffer)
	}
	return &buffer{after: old.remote}
}

// retarget sets where the buffer is flushed to, unless it is open already.
func (b *buffer) retarget(to *route) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open {
		return false
	}
	b.target = to
	return true
}

// waits reports whether a message is in the buffer.
func (b *buffer) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lenLocked() > 0
}

func (b *buffer) lenLocked() int { return len(b.returned) + len(b.messages) }

// takeLocked empties the buffer.
func (b *buffer) takeLocked() []bufferedMessage {
	all := append(b.returned, b.messages...)
	b.returned, b.messages = nil, nil
	return all
}

// keepLocked has keep look at all that waits, in order, and forgets what it does not want kept: how
// many messages, of what size.
func (b *buffer) keepLocked(keep func(*bufferedMessage) bool) (gone, size int) {
	for _, list := range []*[]bufferedMessage{&b.returned, &b.messages} {
		kept := (*list)[:0]
		for i := range *list {
			p := &(*list)[i]
			if keep(p) {
				kept = append(kept, *p)
				continue
			}
			gone++
			size += p.size
		}
		clear((*list)[len(kept):])
		*list = kept
	}
	return gone, size
}

// close returns what waited. The buffer never takes messages again.
func (b *buffer) close() []bufferedMessage {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = true
	return b.takeLocked()
}

// bufferedMessage is a message that waits for a home: of this node, or encoded, of another.
type bufferedMessage struct {
	id   string
	env  envelope
	from *shard         // the shard whose handler waits for the answer; nil: none
	raw  *codec.Message // with a body of its own; nil for a message of this node
	lane *shard         // of raw: what the shard's lane had when it came to wait; nil: nothing
	size int
}

// bufferedCopy copies a message out of its frame.
func bufferedCopy(m *codec.Message) bufferedMessage {
	raw := *m
	raw.Body = append([]byte(nil), m.Body...)
	raw.ID = append([]byte(nil), m.ID...)
	return bufferedMessage{id: string(m.ID), raw: &raw, size: bufferedOverhead + len(m.Body)}
}

// bufferLimit bounds all buffers of a region together.
type bufferLimit struct {
	count, bytes       atomic.Int64
	countMax, bytesMax int64

	mu   sync.Mutex
	room chan struct{}
}

// bufferedOverhead is what a waiting message is taken to cost beside its bytes.
const bufferedOverhead = 128

func (l *bufferLimit) take(size int) bool {
	if l.count.Add(1) > l.countMax {
		l.count.Add(-1)
		return false
	}
	if l.bytes.Add(int64(size)) > l.bytesMax {
		l.bytes.Add(int64(-size))
		l.count.Add(-1)
		return false
	}
	return true
}

// force takes room for what must not be lost, whatever the bounds say.
func (l *bufferLimit) force(count, size int) {
	l.count.Add(int64(count))
	l.bytes.Add(int64(size))
}

func (l *bufferLimit) release(count, size int) {
	l.bytes.Add(int64(-size))
	l.count.Add(int64(-count))
	l.mu.Lock()
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
	l.mu.Unlock()
}

// roomAfter returns a channel that is closed when something was released.
func (l *bufferLimit) roomAfter() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.room == nil {
		l.room = make(chan struct{})
	}
	return l.room
}

// divert makes the messages of senders whose route does not work now wait, to be flushed along it
// later; it does nothing when the route has changed meanwhile.
func (t *routes) divert(number uint32, rt *route) {
	b := bufferAfter(rt)
	b.target = rt
	if t.slots[number].CompareAndSwap(rt, &route{buffer: b}) {
		t.ctl.flushLater(number)
	}
}
