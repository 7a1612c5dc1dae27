package transport

import (
	"context"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/scheduler"
	"github.com/coterie-go/coterie/ddata/transport/frame"
	"github.com/coterie-go/coterie/ddata/transport/receipt"
	"github.com/coterie-go/coterie/ddata/transport/tcp"
)

// queue is what the senders of a link and its goroutine share.
//
// Senders append whole frames under mu. The goroutine takes them all and writes what it took, so
// that what senders append during a write goes out in one write with the next. While the goroutine is
// parked, senders write by themselves; see pen. There is no delay: a frame waits only while another
// write is under way, or for senders that can run and have not appended yet.
type queue struct {
	bounds
	wake     chan struct{}
	receipts chan struct{} // capacity 1, as wake: a receipt has come

	mu      sync.Mutex
	waiting frame.Backlog
	kept    receipt.Keeper // of the Data lane
	pen     pen
	starter starter
	closed  error            // why no more frames are taken; nil: they are
	parked  bool             // the goroutine waits for wake
	room    runloop.Progress // is made when frames are taken
	remote  remote
	// progress is made when remote, a receipt or closed changes.
	progress runloop.Progress
}

// starter starts the goroutine of a link, once. The lock of the queue guards it.
type starter struct {
	begin func()
	begun bool // the goroutine was started, or never will be
}

func (s *starter) start() {
	if !s.begun {
		s.begun = true
		s.begin()
	}
}

// remote is what a link knows of the other side.
type remote struct {
	LinkState
	refused  error // the last attempt to connect was refused; nil again once one succeeds
	departed bool  // the other side has ended the last connection, and takes nothing more
}

// newQueue returns the queue of a link; begin starts its goroutine.
func newQueue(cfg *Config, n *counters, toPeer bool, lane Lane, begin func()) *queue {
	q := &queue{
		bounds: boundsOf(cfg, n, toPeer, lane), starter: starter{begin: begin},
		waiting: frame.NewBacklog(cfg.FrameMax, partMax),
		wake:    make(chan struct{}, 1), receipts: make(chan struct{}, 1),
	}
	q.kept = receipt.NewKeeper(cfg.DataKeepMax, &q.waiting.Spares)
	return q
}

// send appends one message when fewer than bound bytes wait.
func (q *queue) send(ch Channel, payload []byte, bound int) error {
	if len(payload) > q.most {
		return q.tooLarge(len(payload))
	}
	q.mu.Lock()
	if err := q.admitLocked(bound); err != nil {
		q.mu.Unlock()
		return err
	}
	q.waiting.Add(uint64(ch), payload)
	q.addedUnlock()
	return nil
}

// append is Append; room is not nil when the queue is full and the caller wants to wait for it.
func (q *queue) append(
	ch Channel, fill func([]byte) []byte, check func() error, wait bool,
) (room <-chan struct{}, err error) {
	q.mu.Lock()
	locked := true
	defer func() { // check and fill are the caller's: a panic of theirs must not leave the lane locked
		if locked {
			q.mu.Unlock()
		}
	}()
	if err := q.admitLocked(q.max); err != nil {
		if wait && err == ErrQueueFull {
			return q.room.Next(), nil
		}
		return nil, err
	}
	if check != nil {
		if err := check(); err != nil {
			return nil, err
		}
	}
	tooLong, err := q.waiting.Build(uint64(ch), fill, q.most)
	if err != nil {
		return nil, err
	}
	if tooLong > 0 {
		return nil, q.tooLarge(tooLong)
	}
	locked = false
	q.addedUnlock()
	return nil, nil
}

// admitLocked reports whether a frame may be appended.
func (q *queue) admitLocked(bound int) error {
	switch {
	case q.closed != nil:
		return q.closed
	case q.remote.refused != nil:
		return q.remote.refused
	case len(q.waiting.Buf) >= bound:
		return ErrQueueFull
	}
	return nil
}

// addedUnlock ends an append: the frame is written, or will be. It unlocks mu.
func (q *queue) addedUnlock() {
	q.starter.start()
	if q.parked && q.kept.Bytes() <= q.keepMax && q.pen.take(len(q.waiting.Buf)) {
		q.writeUnlock()
		return
	}
	wake := q.parked && !q.pen.sender // a sender that writes looks at what waits when it has done so
	if wake {
		q.parked = false
	}
	q.mu.Unlock()
	if wake {
		signal(q.wake)
	}
}

// start sets the link going before its first frame.
func (q *queue) start() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.starter.start()
}

// takeOrPark takes what a sender has begun to write, or all frames that wait. When there are none,
// the goroutine is parked, and senders may take the pen, to write on line: wake gets a token when the
// goroutine is wanted. idle reports whether it holds memory that it should then let go of.
func (q *queue) takeOrPark(line *tcp.Line) (b numbered, idle bool, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	p := &q.pen
	switch {
	case p.begun.Frames > 0:
		b, p.begun = p.begun, b
	case q.waiting.Frames > 0:
		b = q.takeLocked()
		q.parked, p.crowded = false, b.Frames > 1
	case q.closed != nil:
		closed = true
	default:
		idle = q.waiting.Large() || !q.kept.Idle()
		q.parked, p.line, p.watched, p.ended = true, line, idle, time.Now()
		p.held.Unlock()
	}
	return b, idle, closed
}

// park is takeOrPark that leaves the frames where they are. It reports whether there are none.
func (q *queue) park() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting.Buf) > 0 {
		return false
	}
	q.parked = true
	return true
}

// takeLocked takes all frames that wait, to be written.
func (q *queue) takeLocked() numbered {
	b := numbered{Batch: q.waiting.Take()}
	if q.lane == Data {
		b.last = q.kept.Number(b.Frames)
	}
	q.room.Made()
	return b
}

// shrink gives up the buffers of a link that is idle.
func (q *queue) shrink() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.waiting.Frames == 0 && time.Since(q.pen.ended) >= writeBufferIdle {
		q.waiting.Shrink()
		q.kept.Shrink()
	}
}

// recycle gives the buffer of a written batch back.
func (q *queue) recycle(batch []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.Spares.Put(batch)
}

// putFirst puts frames that were not written before all others.
func (q *queue) putFirst(b frame.Batch) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.waiting.PutFirst(b)
}

// end closes a queue whose goroutine ends.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closeLocked(ErrNoPeer)
}

// empty returns what was written and has no receipt, and what waits. The queue holds neither any
// longer.
func (q *queue) empty() (written, waiting []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	written = q.kept.GiveUp()
	q.progress.Made()
	q.room.Made()
	q.waiting.Spares.Clear()
	return written, q.waiting.Take().Buf
}

// close takes no more frames: the senders get why. If the link has a connection, it may go on with
// what waits. If not, what waits is returned, and the link has to stop.
func (q *queue) close(why error) (waiting []byte, lingers bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closeLocked(why)
	q.room.Made()
	if !q.remote.Up {
		return q.waiting.Take().Buf, false
	}
	signal(q.wake)
	return nil, true
}

func (q *queue) closeLocked(why error) {
	if q.closed == nil {
		q.closed = why
	}
	q.starter.begun = true
	q.progress.Made()
}

// retire closes the queue if nothing waits. It reports whether it is closed.
func (q *queue) retire() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting.Buf) > 0 && q.closed == nil {
		return false
	}
	q.closeLocked(ErrNoPeer)
	return true
}

func (q *queue) isClosed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed != nil
}

// becomeUp takes note of a connection.
func (q *queue) becomeUp(generation uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remote = remote{LinkState: LinkState{Up: true, Generation: generation}}
}

// becomeDown takes note of its end. It reports whether the queue is closed.
func (q *queue) becomeDown() (closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remote.Up = false
	return q.closed != nil
}

// becomeDeparted takes note that the other side ends its connections.
func (q *queue) becomeDeparted() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.remote.departed = true
	q.progress.Made()
}

// becomeRefused takes note that an attempt to connect has failed, or that the link dials elsewhere
// from now on. cause is nil when it was not a refusal: then frames are taken.
func (q *queue) becomeRefused(cause error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.remote.refused = cause; cause != nil {
		q.progress.Made()
	}
}

func (q *queue) state() LinkState {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.remote.LinkState
}

// stance is what a hello says of the frames of a link: how many were written on earlier connections,
// and of how many of these it is known what became of them.
func (q *queue) stance() (written, acked uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kept.Written(), q.kept.Acked()
}

// keep keeps a batch after its write has ended, well or not, until the receipt comes.
func (q *queue) keep(b numbered) {
	if b.Frames == 0 {
		return
	}
	large := len(b.Buf) >= receipt.Large
	for rest, begun := b.Buf, false; len(rest) > 0; begun = true {
		q.mu.Lock() // it is let go of between two chunks: senders wait for it
		if large && !begun && q.kept.KeepLarge(b.Buf, b.last) {
			q.mu.Unlock()
			return
		}
		rest = q.kept.KeepSome(rest, b.last, begun)
		q.mu.Unlock()
	}
	q.recycle(b.Buf)
}

// receipt lets go of what has arrived. False: no correct receiver says so.
func (q *queue) receipt(received uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.kept.Release(received) {
		return false
	}
	q.progress.Made()
	signal(q.receipts)
	return true
}

// keptAbove reports whether more than so many bytes are kept.
func (q *queue) keptAbove(most int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.kept.Bytes() > most
}

// resume puts back, before all others, what the other side of a new connection has not received, and
// returns the number of these frames. What may have arrived or not is lost.
func (q *queue) resume(received uint64, fresh bool) (again int, lost []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch, again, lost := q.kept.Resume(received, fresh)
	if again > 0 {
		q.waiting.PutFirst(frame.Batch{Buf: batch, Frames: again})
	}
	q.progress.Made()
	return again, lost
}

// awaitReceived waits until the other side has received all that was appended before the call. It
// gives up when no receipt comes for patience. gone: no receipt will come.
func (q *queue) awaitReceived(ctx context.Context, patience time.Duration) (gone bool, err error) {
	q.mu.Lock()
	goal := q.kept.Written() + uint64(q.waiting.Frames)
	lost := q.kept.Lost()
	q.mu.Unlock()
	err = q.progress.Await(ctx, scheduler.Goroutines{}, &q.mu, patience, func() bool {
		if q.kept.Acked() >= goal && q.kept.Lost() == lost {
			return true
		}
		gone = q.closed != nil || q.remote.refused != nil || q.remote.departed || q.kept.Lost() != lost
		return gone
	})
	return gone, err
}

// signal leaves a token in a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
