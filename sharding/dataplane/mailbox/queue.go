package mailbox

import "sync"

// head is what an envelope has beside its message, with what it counts of the bounds in bytes.
type head struct {
	call, origin uint64
	size         uint32
}

// chunk is a piece of a mailbox's queue. Chunks are pooled: an idle mailbox holds none. A busy one has one that the
// senders fill and one that the worker empties, and the two change places.
//
// A message that was told on this node has an empty head. While a chunk has no others, the heads are neither
// written nor read: the messages alone go from the sender's processor to the worker's.
type chunk struct {
	next     *chunk // a ring: that of the last chunk is the first one
	from, to uint16 // msgs[from:to] is queued
	headed   bool   // heads[from:to] are those of the messages; otherwise all are empty
	msgs     []any
	heads    []head
}

// The first chunk of a burst is small, so that a million entities with few messages each stay cheap;
// the following ones are large.
const (
	chunkSmall = 4
	chunkLarge = 128
)

// small is a chunk with its messages and heads: two cache lines, and one for each two heads.
type small struct {
	chunk
	msgs  [chunkSmall]any
	heads [chunkSmall]head
	_     [32]byte // so that each begins with a line
}

var (
	smallChunks = sync.Pool{New: func() any {
		s := new(small)
		s.chunk.msgs, s.chunk.heads = s.msgs[:], s.heads[:]
		return &s.chunk
	}}
	largeChunks = sync.Pool{New: func() any {
		return &chunk{msgs: make([]any, chunkLarge), heads: make([]head, chunkLarge)}
	}}
)

func smallChunk() *chunk { return smallChunks.Get().(*chunk) }
func largeChunk() *chunk { return largeChunks.Get().(*chunk) }

// reset readies an empty chunk to be filled again.
func (c *chunk) reset() { c.from, c.to, c.headed = 0, 0, false }

// release gives an empty chunk back.
func (c *chunk) release() {
	c.reset()
	c.next = nil
	if len(c.msgs) == chunkSmall {
		smallChunks.Put(c)
	} else {
		largeChunks.Put(c)
	}
}

func (c *chunk) isFull() bool  { return int(c.to) == len(c.msgs) }
func (c *chunk) isEmpty() bool { return c.from == c.to }

// push puts an envelope into a chunk that is not full.
func (c *chunk) push(e Envelope, size uint32) {
	i := c.to
	c.msgs[i] = e.Msg
	h := head{e.Call, e.Origin, size}
	if h != (head{}) && !c.headed {
		c.headed = true
		clear(c.heads[c.from:i])
	}
	if c.headed {
		c.heads[i] = h
	}
	c.to++
}

// at is the envelope in a place.
func (c *chunk) at(i uint16) (e Envelope, size uint32) {
	e.Msg = c.msgs[i]
	if c.headed {
		h := &c.heads[i]
		e.Call, e.Origin, size = h.call, h.origin, h.size
	}
	return e, size
}

// pop takes the first envelope of a chunk that has one.
func (c *chunk) pop() (e Envelope, size uint32) {
	e, size = c.at(c.from)
	c.msgs[c.from] = nil
	c.from++
	return e, size
}

// queue is a FIFO of envelopes, each with what it counts of the bounds in bytes. It is not safe for
// concurrent use. It has a place for the first message, if that is told and not asked, so that an entity
// that is told one message at a time needs no chunk.
//
// Invariant: a chunk of it that is empty is its only one. It is kept for what is queued next.
type queue struct {
	first any    // stands before what is in chunks
	tail  *chunk // the last one; nil: there is none
	len   uint32
	lead  uint32 // 0, or one more than the size of first, which is queued
}

// push queues an envelope.
func (q *queue) push(e Envelope, size uint32) {
	if q.len++; q.len == 1 && e.Call == 0 && e.Origin == 0 {
		q.first, q.lead = e.Msg, 1+size
		return
	}
	if q.tail == nil || q.tail.isFull() {
		q.grow()
	}
	q.tail.push(e, size)
}

func (q *queue) grow() {
	if q.tail == nil {
		c := smallChunk()
		q.tail, c.next = c, c
		return
	}
	c := largeChunk()
	c.next, q.tail.next = q.tail.next, c
	q.tail = c
}

// pop takes the first envelope.
func (q *queue) pop() (e Envelope, size uint32, ok bool) {
	if q.lead > 0 {
		e.Msg, q.first = q.first, nil
		size, q.lead = q.lead-1, 0
		q.len--
		return e, size, true
	}
	if q.len == 0 {
		return e, 0, false
	}
	h := q.tail.next
	e, size = h.pop()
	q.len--
	switch {
	case !h.isEmpty():
	case h == q.tail:
		h.reset()
	default:
		q.tail.next = h.next
		h.release()
	}
	return e, size, true
}

// borrow takes the empty chunk of another queue, if it has none and that has one.
func (q *queue) borrow(from *queue) {
	if q.tail == nil && from.tail != nil && from.tail.isEmpty() {
		q.tail, from.tail = from.tail, nil
	}
}

// trim releases the empty chunk.
func (q *queue) trim() {
	if q.tail != nil && q.tail.isEmpty() {
		q.tail.release()
		q.tail = nil
	}
}

// prepend puts all of front before what is queued and empties front.
func (q *queue) prepend(front *queue) {
	if front.len == 0 {
		return
	}
	front.trim()
	q.trim()
	if q.lead > 0 { // it is the first no more
		c := smallChunk()
		c.push(Envelope{Msg: q.first}, q.lead-1)
		c.next = c
		q.chain(c)
	}
	if front.tail != nil {
		q.chain(front.tail)
	}
	q.first, q.lead = front.first, front.lead
	q.len += front.len
	*front = queue{}
}

// putBack puts an envelope before what is queued.
func (q *queue) putBack(e Envelope, size uint32) {
	var front queue
	front.push(e, size)
	q.prepend(&front)
}

// chain puts a ring of chunks, of which last is the last one, before those that are there.
func (q *queue) chain(last *chunk) {
	if q.tail == nil {
		q.tail = last
		return
	}
	last.next, q.tail.next = q.tail.next, last.next
}

// take empties q into the result.
func (q *queue) take() queue {
	all := *q
	*q = queue{}
	return all
}

// each calls fn for what is queued, in order, except control envelopes.
func (q *queue) each(fn func(Envelope)) {
	if q.lead > 0 {
		fn(Envelope{Msg: q.first})
	}
	if q.tail == nil {
		return
	}
	for c := q.tail.next; ; c = c.next {
		for i := c.from; i < c.to; i++ {
			if e, _ := c.at(i); !e.Internal() {
				fn(e)
			}
		}
		if c == q.tail {
			return
		}
	}
}

// dropInternal takes out the envelopes of this package.
func (q *queue) dropInternal() {
	all := q.take()
	for e, size, ok := all.pop(); ok; e, size, ok = all.pop() {
		if !e.Internal() {
			q.push(e, size)
		}
	}
	all.trim()
}
