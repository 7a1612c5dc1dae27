package mailbox

import (
	"sync"
)

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
	len        uint32
	lead       uint32 // 0, or one more than the size of the first envelope, which stands there
	head, tail *chunk
}

// push queues an envelope. place is nil while another queue has it.
func (q *queue) push(e Envelope, size uint32, place *Envelope) {
	if q.len == 0 && place != nil {
		*place = e
		q.lead, q.len = 1+size, 1
		return
	}
	t := q.tail
	if t == nil || t.to == len(t.envs) {
		t = q.grow()
	}
	t.envs[t.to], t.sizes[t.to] = e, size
	t.to++
	q.len++
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

// pop takes the first envelope.
func (q *queue) pop(place *Envelope) (e Envelope, size uint32, ok bool) {
	if q.lead > 0 {
		e, *place = *place, Envelope{}
		size, q.lead = q.lead-1, 0
		q.len--
		return e, size, true
	}
	h := q.head
	if h == nil {
		return Envelope{}, 0, false
	}
	e, size = h.envs[h.from], h.sizes[h.from]
	h.envs[h.from] = Envelope{}
	h.from++
	q.len--
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
	if front.len == 0 {
		return
	}
	if q.lead > 0 { // it is the first no more
		e, size, _ := q.pop(place)
		c := smallChunks.Get().(*chunk)
		c.envs[0], c.sizes[0] = e, size
		c.to, c.next = 1, q.head
		q.head = c
		if q.tail == nil {
			q.tail = c
		}
		q.len++
	}
	if front.head != nil {
		front.tail.next = q.head
		if q.tail == nil {
			q.tail = front.tail
		}
		q.head = front.head
	}
	q.lead = front.lead
	q.len += front.len
	*front = queue{}
}

// take empties q into the result.
func (q *queue) take() queue {
	all := *q
	*q = queue{}
	return all
}

// each calls fn for what is queued, except control envelopes.
func (q *queue) each(place *Envelope, fn func(Envelope)) {
	if q.lead > 0 && !place.Internal() {
		fn(*place)
	}
	for c := q.head; c != nil; c = c.next {
		for _, env := range c.envs[c.from:c.to] {
			if !env.Internal() {
				fn(env)
			}
		}
	}
}

// dropInternal takes out the envelopes of this package.
func (q *queue) dropInternal(place *Envelope) {
	all := q.take()
	for e, size, ok := all.pop(place); ok; e, size, ok = all.pop(place) {
		if !e.Internal() {
			q.push(e, size, place)
		}
	}
}
