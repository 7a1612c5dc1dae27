package transport

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// backlog is the frames of a link that wait to be written. The lock of its queue guards it.
//
// Invariants: buf holds whole frames, in order, and frames is their number; at most one of them lies
// beyond the bound of the queue.
type backlog struct {
	frameMax int // a larger payload is cut
	buf      []byte
	frames   int
	spares   frame.Spares // for the next batches
}

// add appends a message.
func (b *backlog) add(ch Channel, payload []byte) {
	start := len(b.buf)
	b.buf = frame.Append(b.buf, uint64(ch), payload)
	b.added(start, ch, len(payload))
}

// build appends the message that fill makes, of at most so many bytes. tooLong is its size when that
// is above most: then it is not appended.
func (b *backlog) build(ch Channel, fill func([]byte) []byte, most int) (tooLong int, err error) {
	start := len(b.buf)
	head := append(b.buf, make([]byte, frame.HeaderSize)...)
	out := fill(head)
	size := len(out) - len(head)
	if size < 0 {
		return 0, fmt.Errorf("transport: fill returned %d bytes less than it was given", -size)
	}
	if size > most {
		return size, nil
	}
	frame.PutHeader(out[start:], uint64(ch), size)
	b.buf = out
	b.added(start, ch, size)
	return 0, nil
}

// added counts the message that begins at start and is the last, and makes parts of it if it is
// large.
func (b *backlog) added(start int, ch Channel, size int) {
	frames := 1
	if size > b.frameMax {
		b.buf, frames = frame.Cut(b.buf, start, uint64(ch), min(b.frameMax, partMax))
	}
	b.frames += frames
}

// take returns all that waits.
func (b *backlog) take() (batch []byte, frames int) {
	batch, frames = b.buf, b.frames
	b.buf, b.frames = b.spares.Take(), 0
	return batch, frames
}

// putFirst puts a batch before all that waits.
func (b *backlog) putFirst(batch []byte, frames int) {
	b.buf = append(batch[:len(batch):len(batch)], b.buf...)
	b.frames += frames
}

// large reports whether an idle link should let go of buffers.
func (b *backlog) large() bool { return frame.Large(b.buf) || b.spares.Large() }

// shrink lets go of the buffers, when nothing waits.
func (b *backlog) shrink() {
	b.buf = nil
	b.spares.Clear()
}

// vacancy is where senders wait for room in a queue. The lock of the queue guards it.
type vacancy struct{ freed waiters } // nil when no sender waits

// waiters are senders that wait; the channel is closed when frames have been taken.
type waiters chan struct{}

// wait returns what is closed when frames have been taken.
func (v *vacancy) wait() <-chan struct{} {
	if v.freed == nil {
		v.freed = make(waiters)
	}
	return v.freed
}

// take returns the senders that wait. None waits any more.
func (v *vacancy) take() waiters {
	w := v.freed
	v.freed = nil
	return w
}

// tell tells the senders that there is room. It needs no lock.
func (w waiters) tell() {
	if w != nil {
		close(w)
	}
}
