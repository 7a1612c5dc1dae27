package dataplane

import (
	"sync"

	"github.com/coterie-go/coterie/sharding/codec"
)

// Envelope is one message in a mailbox.
type Envelope struct {
	Msg    any
	Call   uint64 // the question that it is, 0 for a tell
	Origin uint64 // the node that asked
}

// Marks in envelope.call; no question has these ids, and frames with them are malformed.
const (
	TimerCall   = codec.CallMax + iota // the receive timeout: no activity
	ControlCall                        // a control envelope
)

// internal reports whether the envelope is this package's own: neither a user's message nor a
// question.
func (e *Envelope) internal() bool { return e.Call == ControlCall || e.Call == TimerCall }

// chunk is a piece of a mailbox's queue. Chunks are pooled: an idle mailbox holds none.
type chunk struct {
	next     *chunk
	from, to int // envelopes[from:to] are queued
	envs     []Envelope
	sizes    []uint32 // of envs
}

func newChunk(n int) *chunk { return &chunk{envs: make([]Envelope, n), sizes: make([]uint32, n)} }

// The first chunk of a burst is small, so that a million entities with one message each stay cheap;
// the following ones are large.
const (
	chunkSmall = 4
	chunkLarge = 128
)

var (
	smallChunks = sync.Pool{New: func() any { return newChunk(chunkSmall) }}
	largeChunks = sync.Pool{New: func() any { return newChunk(chunkLarge) }}
)

func (c *chunk) release() {
	c.next, c.from, c.to = nil, 0, 0
	if len(c.envs) == chunkSmall {
		smallChunks.Put(c)
	} else {
		largeChunks.Put(c)
	}
}

// queue is a FIFO of envelopes, each with what it counts of the bounds in bytes. It is not safe for
// concurrent use. Its first envelope may stand in a place that its owner has for one, so that an
// entity that is told one message at a time needs no chunk.
type queue struct {
	Len        uint32
	lead       uint32 // 0, or one more than the size of the first envelope, which stands there
	head, tail *chunk
}

// push queues an envelope. place is nil while another queue has it.
func (q *queue) push(e Envelope, size uint32, place *Envelope) {
	if q.Len == 0 && place != nil {
		*place = e
		q.lead, q.Len = 1+size, 1
		return
	}
	t := q.tail
	if t == nil || t.to == len(t.envs) {
		t = q.grow()
	}
	t.envs[t.to], t.sizes[t.to] = e, size
	t.to++
	q.Len++
}

func (q *queue) grow() *chunk {
	if q.tail == nil {
		c := smallChunks.Get().(*chunk)
		q.head, q.tail = c, c
		return c
	}
	c := largeChunks.Get().(*chunk)
	q.tail.next = c
	q.tail = c
	return c
}

// Pop takes the first envelope.
func (q *queue) Pop(place *Envelope) (e Envelope, size uint32, ok bool) {
	if q.lead > 0 {
		e, *place = *place, Envelope{}
		size, q.lead = q.lead-1, 0
		q.Len--
		return e, size, true
	}
	h := q.head
	if h == nil {
		return Envelope{}, 0, false
	}
	e, size = h.envs[h.from], h.sizes[h.from]
	h.envs[h.from] = Envelope{}
	h.from++
	q.Len--
	if h.from == h.to {
		q.head = h.next
		if q.head == nil {
			q.tail = nil
		}
		h.release()
	}
	return e, size, true
}

// prepend puts all of front before what is queued and empties front. One of the two may have the
// place.
func (q *queue) prepend(front *queue, place *Envelope) {
	if front.Len == 0 {
		return
	}
	if q.lead > 0 { // it is the first no more
		e, size, _ := q.Pop(place)
		c := smallChunks.Get().(*chunk)
		c.envs[0], c.sizes[0] = e, size
		c.to, c.next = 1, q.head
		q.head = c
		if q.tail == nil {
			q.tail = c
		}
		q.Len++
	}
	if front.head != nil {
		front.tail.next = q.head
		if q.tail == nil {
			q.tail = front.tail
		}
		q.head = front.head
	}
	q.lead = front.lead
	q.Len += front.Len
	*front = queue{}
}

// Take empties q into the result.
func (q *queue) Take() queue {
	all := *q
	*q = queue{}
	return all
}
