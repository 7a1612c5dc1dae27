package transport

import (
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
	"github.com/coterie-go/coterie/ddata/transport/tcp"
)

// pen is the right to write on the connection of a link. The goroutine of the link has it, except
// while it is parked. Then a sender may take it, for one write that does not wait: what a lone
// sender appends needs no second goroutine. What the kernel does not take at once the goroutine
// writes.
//
// Invariant: while a sender has the pen, line is not nil and begun is empty.
type pen struct {
	held sync.Mutex // by what has the pen; a sender takes it under the lock of the queue, and never waits

	// Under the lock of the queue:
	line    *tcp.Line // nil: only the goroutine writes
	sender  bool      // a sender has the pen
	begun   numbered  // what a sender has not written to the end
	ended   time.Time // when the last write ended, or the goroutine was parked
	crowded bool      // the last write had several frames
	watched bool      // the goroutine looks at the buffers when the link has been idle for a while
}

// numbered is a batch that is about to be written.
type numbered struct {
	frame.Batch
	last    uint64 // of the Data lane: the number of the last frame
	written int    // bytes
}

// take takes the pen for a sender, if that is to write so many bytes. When others append at the same
// time, it leaves that to the goroutine, whose batches are larger. The goroutine is parked.
func (p *pen) take(bytes int) bool {
	return p.line != nil && !p.sender && bytes <= directBytes && p.isPaused() && p.held.TryLock()
}

// isPaused reports whether no other sender is likely to append soon.
func (p *pen) isPaused() bool {
	pause := loneAfter
	if p.crowded {
		pause = crowdAfter
	}
	return time.Since(p.ended) > pause
}

// reclaim ends the writing of senders on a connection. left is what they have begun and not written
// to the end. The goroutine has the pen.
func (q *queue) reclaim() (left numbered) {
	q.mu.Lock()
	defer q.mu.Unlock()
	left = q.pen.begun
	q.pen.line, q.pen.begun = nil, numbered{}
	return left
}

// writeUnlock writes what waits, for a sender that has the pen. It unlocks mu.
func (q *queue) writeUnlock() {
	p := &q.pen
	p.sender = true
	b := q.takeLocked()
	q.mu.Unlock()
	b.written = p.line.TryWrite(b.Buf)
	q.mu.Lock()
	p.sender, p.crowded, p.ended = false, b.Frames > 1, time.Now()
	if b.written < len(b.Buf) {
		p.begun = b
	} else {
		q.n.wrote(b.Frames, len(b.Buf))
		for rest, begun := b.Buf, false; len(rest) > 0; begun = true {
			rest = q.kept.KeepSome(rest, b.last, begun)
		}
		q.waiting.Spares.Put(b.Buf)
	}
	wake := q.waiting.Frames > 0 || p.begun.Frames > 0 || !p.watched
	if wake {
		q.parked = false
	}
	p.held.Unlock()
	q.mu.Unlock()
	if wake {
		signal(q.wake)
	}
}
