package routes

import (
	"bytes"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/tracing"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/sharding/codec"
	"github.com/coterie-go/coterie/sharding/dataplane/asks"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/mailbox"
	"github.com/coterie-go/coterie/sharding/dataplane/spans"
	"github.com/coterie-go/coterie/sharding/failure"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Settings are what Routes are made of.
type Settings struct {
	Self            uint64 // this node
	Shards          int
	ShardOf         protocol.ShardFunc
	CountMax        int // messages in all buffers
	BytesMax        int // and their size
	Carrier         Carrier
	Asks            *asks.Table
	PassesOnNothing func() bool  // the region has ended
	Spans           *spans.Spans // nil: nothing is traced
	Defects         defect.Set   // planted by a test
}

// Carrier is what Routes need for the messages that they send off, and for those that get nowhere.
// Its methods do not wait.
type Carrier interface {
	// Carry encodes a message of this node and appends it for the node of rt, which slot has now.
	Carry(number uint32, slot *atomic.Pointer[Route], rt *Route, id string, env mailbox.Envelope) error
	// Forward appends an encoded message for a node, unless check refuses at the moment of the
	// append.
	Forward(number uint32, to uint64, m *codec.Message, check func() error) error
	// Decode makes an envelope of a message from another node.
	Decode(m *codec.Message) (mailbox.Envelope, error)
	// Discard drops a message and, if it was a question, answers it with the reason.
	Discard(reason failure.DropReason, number uint32, id string, env mailbox.Envelope)
}

// Control is what Routes tell the control plane. Its methods do not wait.
type Control interface {
	Wanted(shard uint32)     // the shard's buffer has got a message
	FlushLater(shard uint32) // the shard's buffer could not be flushed now
}

// Table says where the messages of each shard go. Senders read it without a lock; the control loop
// changes it.
type Table struct {
	set     Settings
	control Control

	Slots []atomic.Pointer[Route]
	// takes what other nodes have sent here, which a local hand-off does not hold back; nil: that
	// waits too
	Lanes  []atomic.Pointer[entities.Shard]
	Hosted []atomic.Pointer[entities.Shard] // runs here, whatever its messages do

	Limit Limit
}

// ErrChanged is returned by the check under the lane's lock: load the route again.
var ErrChanged = errors.New("sharding: route changed")

// Route is immutable, except that a buffer fills. Exactly one of its fields is set; a nil route is
// like one with an empty buffer.
type Route struct {
	Local  *entities.Shard // hosted here
	Remote uint64          // the node that hosts it
	Buffer *Buffer         // the home is unknown or moving: messages wait
}

// New makes routes to homes that are all unknown.
func New(s Settings) *Table {
	t := &Table{
		set:    s,
		Slots:  make([]atomic.Pointer[Route], s.Shards),
		Lanes:  make([]atomic.Pointer[entities.Shard], s.Shards),
		Hosted: make([]atomic.Pointer[entities.Shard], s.Shards),
	}
	t.Limit.CountMax, t.Limit.bytesMax = int64(s.CountMax), int64(s.BytesMax)
	return t
}

// SteeredBy says which control plane hears of what happens here.
func (t *Table) SteeredBy(c Control) { t.control = c }

// Shards lists those that run here.
func (t *Table) Shards() []*entities.Shard {
	all := make([]*entities.Shard, 0, 16)
	for i := range t.Hosted {
		if s := t.Hosted[i].Load(); s != nil {
			all = append(all, s)
		}
	}
	return all
}

// Unhost takes out a shard that runs here no more. Its messages go where the route says.
func (t *Table) Unhost(s *entities.Shard) {
	t.Lanes[s.Number].CompareAndSwap(s, nil)
	t.Hosted[s.Number].CompareAndSwap(s, nil)
}

// ShardFunc is the function from ids to shards, which survives what the user's panics at.
func (t *Table) ShardFunc() protocol.ShardFunc { return t.set.ShardOf }

// ShardOf is the shard of an id.
func (t *Table) ShardOf(id string) uint32 {
	return uint32(t.set.ShardOf.Shard(protocol.EntityID(id), len(t.Slots)))
}

// Home is the node that a shard's route leads to; ok is false while messages wait.
func (t *Table) Home(number uint32) (home view.UID, ok bool) {
	rt := t.Slots[number].Load()
	switch {
	case rt == nil || rt.Buffer != nil:
		return 0, false
	case rt.Local != nil:
		return view.UID(t.set.Self), true
	}
	return view.UID(rt.Remote), true
}

// Buffered is how many messages wait for the home of a shard.
func (t *Table) Buffered(number uint32) int {
	rt := t.Slots[number].Load()
	if rt == nil || rt.Buffer == nil {
		return 0
	}
	rt.Buffer.Mu.Lock()
	defer rt.Buffer.Mu.Unlock()
	return rt.Buffer.lenLocked()
}

// Buffering makes the shard's messages wait, if they do not already, and returns their buffer. A
// buffer that was about to be flushed is told to stop.
func (t *Table) Buffering(number uint32) *Buffer {
	slot := &t.Slots[number]
	for {
		old := slot.Load()
		if old != nil && old.Buffer != nil {
			if old.Buffer.Retarget(nil) {
				return old.Buffer
			}
			continue // opened meanwhile
		}
		b := bufferAfter(old)
		if slot.CompareAndSwap(old, &Route{Buffer: b}) {
			return b
		}
	}
}

// Buffer holds the messages of one shard, in order. Its lock orders senders against the flush: a
// sender that finds it open loads the route again, so no message overtakes those that waited.
type Buffer struct {
	Mu       sync.Mutex
	open     bool   // emptied and replaced in the table; never takes messages again
	Target   *Route // where to flush to; nil: not yet
	Messages []BufferedMessage
	// Returned goes before Messages: what was on its way to the node after, and never left this
	// one. Once something else has been sent it would come too late: then after is 0.
	Returned []BufferedMessage
	after    uint64
}

// bufferAfter is the buffer that takes the place of a route.
func bufferAfter(old *Route) *Buffer {
	if old == nil {
		return new(Buffer)
	}
	return &Buffer{after: old.Remote}
}

// Retarget sets where the buffer is flushed to, unless it is open already.
func (b *Buffer) Retarget(to *Route) bool {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	if b.open {
		return false
	}
	b.Target = to
	return true
}

// Waits reports whether a message is in the buffer.
func (b *Buffer) Waits() bool {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	return b.lenLocked() > 0
}

func (b *Buffer) lenLocked() int { return len(b.Returned) + len(b.Messages) }

// takeLocked empties the buffer.
func (b *Buffer) takeLocked() []BufferedMessage {
	all := append(b.Returned, b.Messages...)
	b.Returned, b.Messages = nil, nil
	return all
}

// keepLocked has keep look at all that waits, in order, and forgets what it does not want kept: how
// many messages, of what size.
func (b *Buffer) keepLocked(keep func(*BufferedMessage) bool) (gone, size int) {
	for _, list := range []*[]BufferedMessage{&b.Returned, &b.Messages} {
		kept := (*list)[:0]
		for i := range *list {
			p := &(*list)[i]
			if keep(p) {
				kept = append(kept, *p)
				continue
			}
			gone++
			size += p.Size
		}
		clear((*list)[len(kept):])
		*list = kept
	}
	return gone, size
}

// close returns what waited. The buffer never takes messages again.
func (b *Buffer) close() []BufferedMessage {
	b.Mu.Lock()
	defer b.Mu.Unlock()
	b.open = true
	return b.takeLocked()
}

// BufferedMessage is a message that waits for a home: of this node, or encoded, of another.
type BufferedMessage struct {
	ID   string
	Env  mailbox.Envelope
	From *entities.Shard // the shard whose handler waits for the answer; nil: none
	Raw  *codec.Message  // with a body of its own; nil for a message of this node
	lane *entities.Shard // of raw: what the shard's lane had when it came to wait; nil: nothing
	Size int
	wait tracing.Span // nil: it is not traced
}

// header is that of the message.
func (p *BufferedMessage) header() []byte {
	if p.Raw != nil {
		return p.Raw.Header
	}
	_, header := p.Env.Open()
	return header
}

// waits begins the span of the wait, if the message belongs to a trace. The message is about to be put
// into the buffer of a shard.
func (p *BufferedMessage) waits(s *spans.Spans, number uint32) {
	if s == nil || p.wait != nil {
		return
	}
	if header := p.header(); header != nil {
		_, p.wait = s.Begin(s.Open(header), spans.Buffer, spans.Subject{ID: p.ID, Shard: number})
	}
}

// waited ends the span of the wait; err is why the message is lost.
func (p *BufferedMessage) waited(err error) {
	if p.wait != nil {
		p.wait.End(err)
	}
}

// CopyOf copies a message out of its frame. lane is what the lane of its shard had.
func CopyOf(m *codec.Message, lane *entities.Shard) BufferedMessage {
	raw := *m
	raw.Body, raw.Header = append([]byte(nil), m.Body...), bytes.Clone(m.Header)
	raw.ID = append([]byte(nil), m.ID...)
	return BufferedMessage{
		ID: string(m.ID), Raw: &raw, lane: lane, Size: BufferedOverhead + len(m.Body) + len(m.Header),
	}
}

// Limit bounds all buffers of a region together.
type Limit struct {
	Count, Bytes       atomic.Int64
	CountMax, bytesMax int64

	mu   sync.Mutex
	room chan struct{}
}

// BufferedOverhead is what a waiting message is taken to cost beside its bytes.
const BufferedOverhead = 128

// BytesOf is what a message of another node counts in a mailbox.
func BytesOf(m *codec.Message) uint32 {
	return uint32(len(m.Body)+len(m.Header)) + BufferedOverhead
}

func (l *Limit) take(size int) bool {
	if l.Count.Add(1) > l.CountMax {
		l.Count.Add(-1)
		return false
	}
	if l.Bytes.Add(int64(size)) > l.bytesMax {
		l.Bytes.Add(int64(-size))
		l.Count.Add(-1)
		return false
	}
	return true
}

// force takes room for what must not be lost, whatever the bounds say.
func (l *Limit) force(count, size int) {
	l.Count.Add(int64(count))
	l.Bytes.Add(int64(size))
}

func (l *Limit) release(count, size int) {
	l.Bytes.Add(int64(-size))
	l.Count.Add(int64(-count))
	l.mu.Lock()
	if l.room != nil {
		close(l.room)
		l.room = nil
	}
	l.mu.Unlock()
}

// RoomAfter returns a channel that is closed when something was released.
func (l *Limit) RoomAfter() <-chan struct{} {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.room == nil {
		l.room = make(chan struct{})
	}
	return l.room
}

// Divert makes the messages of senders whose route does not work now wait, to be flushed along it
// later; it does nothing when the route has changed meanwhile.
func (t *Table) Divert(number uint32, rt *Route) {
	b := bufferAfter(rt)
	b.Target = rt
	if t.Slots[number].CompareAndSwap(rt, &Route{Buffer: b}) {
		t.control.FlushLater(number)
	}
}
