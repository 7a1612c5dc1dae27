package frame

import "fmt"

// Batch is whole frames, in order, that are written together.
type Batch struct {
	Buf    []byte // empty: there are none
	Frames int
}

// Backlog is the frames of one writer that wait to be written.
//
// Invariant: Buf holds whole frames, in order, and Frames is their number.
type Backlog struct {
	Batch
	Spares   Spares // for the next batches
	frameMax int    // a larger payload is cut
	partMax  int    // into parts of so many bytes, at most
}

// NewBacklog returns the backlog of a writer whose frames have at most frameMax bytes, and whose
// parts have at most partMax, if that is less.
func NewBacklog(frameMax, partMax int) Backlog {
	return Backlog{frameMax: frameMax, partMax: min(frameMax, partMax)}
}

// Add appends a message.
func (b *Backlog) Add(channel uint64, payload []byte) {
	start := len(b.Buf)
	b.Buf = Append(b.Buf, channel, payload)
	b.added(start, channel, len(payload))
}

// Build appends the message that fill makes, of at most so many bytes. tooLong is its size when that
// is above most: then it is not appended.
func (b *Backlog) Build(channel uint64, fill func([]byte) []byte, most int) (tooLong int, err error) {
	start := len(b.Buf)
	head := append(b.Buf, make([]byte, HeaderSize)...)
	out := fill(head)
	size := len(out) - len(head)
	if size < 0 {
		return 0, fmt.Errorf("transport: fill returned %d bytes less than it was given", -size)
	}
	if size > most {
		return size, nil
	}
	PutHeader(out[start:], channel, size)
	b.Buf = out
	b.added(start, channel, size)
	return 0, nil
}

// added counts the message that begins at start and is the last, and makes parts of it if it is
// large.
func (b *Backlog) added(start int, channel uint64, size int) {
	frames := 1
	if size > b.frameMax {
		b.Buf, frames = Cut(b.Buf, start, channel, b.partMax)
	}
	b.Frames += frames
}

// Take takes all that waits.
func (b *Backlog) Take() Batch {
	all := b.Batch
	b.Batch = Batch{Buf: b.Spares.Take()}
	return all
}

// PutFirst puts a batch before all that waits.
func (b *Backlog) PutFirst(first Batch) {
	n := len(first.Buf)
	b.Buf = append(first.Buf[:n:n], b.Buf...)
	b.Frames += first.Frames
}

// Large reports whether a writer that is idle should let go of buffers.
func (b *Backlog) Large() bool { return Large(b.Buf) || b.Spares.Large() }

// Shrink lets go of the buffers, when nothing waits.
func (b *Backlog) Shrink() {
	b.Buf = nil
	b.Spares.Clear()
}
