package transport

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// phase is where a link is in its life; see the diagram in the package comment.
type phase uint8

const (
	phaseIdle    phase = iota // no frame yet, no goroutine
	phaseRunning              // its goroutine dials, writes, or waits for frames
	phaseClosing              // takes no frames; writes what it holds until ctx ends
)

// link is one outgoing direction: a queue, and the goroutine that dials and writes.
//
// Senders append whole frames to buf under mu; the goroutine swaps buf for spare and writes what it
// took, so that what senders append during a write goes out in one write with the next. There is no
// delay: a frame waits only while another write is under way.
type link struct {
	m      *Mesh
	peer   NodeID // zero: a link of SendAddr, to the process that listens at addr
	lane   Lane
	stripe uint32
	max    int  // bound of the queue, in bytes
	most   int  // bound of a payload
	full   Drop // what a refused frame counts as

	wake chan struct{} // capacity 1: there is work for a parked goroutine
	kick chan struct{} // capacity 1: dial now, whatever the backoff
	ctx  context.Context
	stop context.CancelFunc // ends the goroutine, whatever it is doing

	mu      sync.Mutex
	addr    string
	phase   phase
	buf     []byte        // whole frames, in order; at most one of them lies beyond max
	frames  int           // number of frames in buf
	inHand  int           // of the Data lane: frames that were taken to be written, and have no number yet
	spares  frame.Spares  // for the next batches
	kept    keeper        // of the Data lane
	parked  bool          // the goroutine waits for wake
	room    chan struct{} // closed when buf was taken; nil when no sender waits
	refused error         // the last attempt to connect was refused; nil again once one succeeds
	// departed: the other side has ended the last connection, and takes nothing more. progress is
	// made when that, or acked, or phase changes.
	departed bool
	progress runloop.Progress
	// answered is the node that was there at the last attempt to connect; of a link of SendAddr
	// only
	answered NodeID
	state    LinkState
}

func (m *Mesh) newLink(peer NodeID, addr string, lane Lane, stripe uint32) *link {
	l := &link{m: m, peer: peer, addr: addr, lane: lane, stripe: stripe, wake: make(chan struct{}, 1), kick: make(chan struct{}, 1)}
	l.kept.room = make(chan struct{}, 1)
	l.most = m.cfg.FrameMax
	l.ctx, l.stop = context.WithCancel(m.ctx)
	switch {
	case peer == 0:
		l.max, l.full = addrQueueMax, DropQueueFullAddr
	case lane == Control:
		l.max, l.full = m.cfg.ControlQueueMax, DropQueueFullControl
	case lane == Data:
		l.max, l.full, l.most = m.cfg.DataQueueMax, DropQueueFullData, m.cfg.MessageMax
	default:
		l.max, l.full = m.cfg.BulkQueueMax, DropQueueFullBulk
	}
	return l
}

// String names the link in logs.
func (l *link) String() string {
	if l.peer == 0 {
		return "the listener at " + l.addr
	}
	return fmt.Sprintf("%v/%v/%d", l.peer, l.lane, l.stripe)
}

// send appends one frame when fewer than bound bytes wait.
func (l *link) send(ch Channel, payload []byte, bound int) error {
	if len(payload) > l.most {
		return l.tooLarge(len(payload))
	}
	l.mu.Lock()
	if err := l.admitLocked(bound); err != nil {
		l.mu.Unlock()
		return err
	}
	start := len(l.buf)
	l.buf = frame.Append(l.buf, uint64(ch), payload)
	frames := 1
	if len(payload) > l.m.cfg.FrameMax {
		frames = l.cutLocked(start, ch)
	}
	l.addedUnlock(frames)
	return nil
}

// append is Append; room is not nil when the queue is full and the caller wants to wait for it.
func (l *link) append(ch Channel, fill func([]byte) []byte, check func() error, wait bool) (room <-chan struct{}, err error) {
	l.mu.Lock()
	locked := true
	defer func() { // check and fill are the caller's: a panic of theirs must not leave the lane locked
		if locked {
			l.mu.Unlock()
		}
	}()
	if err := l.admitLocked(l.max); err != nil {
		if wait && err == ErrQueueFull {
			if l.room == nil {
				l.room = make(chan struct{})
			}
			return l.room, nil
		}
		return nil, err
	}
	if check != nil {
		if err := check(); err != nil {
			return nil, err
		}
	}
	start := len(l.buf)
	head := append(l.buf, make([]byte, frame.HeaderSize)...)
	out := fill(head)
	size := len(out) - len(head)
	if size < 0 {
		return nil, fmt.Errorf("transport: fill returned %d bytes less than it was given", -size)
	}
	if size > l.most {
		return nil, l.tooLarge(size)
	}
	frame.PutHeader(out[start:], uint64(ch), size)
	l.buf = out
	frames := 1
	if size > l.m.cfg.FrameMax {
		frames = l.cutLocked(start, ch)
	}
	locked = false
	l.addedUnlock(frames)
	return nil, nil
}

// cutLocked makes parts of the frame that begins at start and is the last, and returns how many.
func (l *link) cutLocked(start int, ch Channel) (frames int) {
	l.buf, frames = frame.Cut(l.buf, start, uint64(ch), min(l.m.cfg.FrameMax, partMax))
	return frames
}

// admitLocked reports whether a frame may be appended.
func (l *link) admitLocked(bound int) error {
	switch {
	case l.phase == phaseClosing:
		return l.closedError()
	case l.refused != nil:
		return l.refused
	case len(l.buf) >= bound:
		return ErrQueueFull
	}
	return nil
}

func (l *link) closedError() error {
	if l.m.ctx.Err() != nil || l.m.closed.Load() {
		return ErrClosed
	}
	return ErrNoPeer
}

// addedUnlock ends an append: it sees to it that someone writes the frames, and unlocks mu.
func (l *link) addedUnlock(frames int) {
	l.frames += frames
	wake := l.parked
	l.parked = false
	if l.phase == phaseIdle {
		l.startLocked()
	}
	l.mu.Unlock()
	if wake {
		signal(l.wake)
	}
}

// start sets the link going before its first frame.
func (l *link) start() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == phaseIdle {
		l.startLocked()
	}
}

func (l *link) startLocked() {
	l.phase = phaseRunning
	l.m.wg.Add(1)
	l.m.linkWG.Add(1)
	go l.run()
}

// take waits for frames and takes them all. Without an error, an empty batch says that the link is
// closing and has nothing left to write, or that a link of SendAddr was idle for long.
func (l *link) take(lost, asked <-chan struct{}, idle *time.Timer) (batch []byte, frames int, err error) {
	for {
		l.mu.Lock()
		if len(l.buf) > 0 {
			if l.lane == Data {
				l.inHand = l.frames
			}
			batch, frames = l.takeUnlock()
			return batch, frames, nil
		}
		if l.phase == phaseClosing {
			l.mu.Unlock()
			return nil, 0, nil
		}
		l.parked = true
		spare := frame.Large(l.buf) || len(l.kept.free)+len(l.kept.chunks) > 0 || l.spares.Large()
		l.mu.Unlock()
		switch {
		case l.peer == 0:
			idle.Reset(l.m.cfg.AddrIdle)
		case spare:
			idle.Reset(writeBufferIdle)
		}
		select {
		case <-l.wake:
		case <-lost:
			return nil, 0, errLost
		case <-asked:
			return nil, 0, errEndAsked
		case <-idle.C:
			if l.peer == 0 {
				return nil, 0, nil
			}
			l.shrink()
		case <-l.ctx.Done():
			return nil, 0, l.ctx.Err()
		}
	}
}

// shrink gives up the buffers of a link that is idle.
func (l *link) shrink() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.buf) == 0 {
		l.buf, l.kept.free = nil, nil
		l.spares.Clear()
	}
}

func (l *link) takeUnlock() ([]byte, int) {
	batch, frames := l.buf, l.frames
	l.buf, l.frames = l.spares.Take(), 0
	l.parked = false
	room := l.room
	l.room = nil
	l.mu.Unlock()
	if room != nil {
		close(room)
	}
	return batch, frames
}

// recycle gives the buffer of a written batch back.
func (l *link) recycle(batch []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spares.Put(batch)
}

// requeue puts back, before all others, the frames of a batch of which no byte was written, and
// counts those lost of which one was.
func (l *link) requeue(batch []byte, frames, written int) {
	lost, at := frame.Begun(batch, written)
	l.m.n.drop(DropConnLost, lost)
	if at >= len(batch) {
		return
	}
	l.mu.Lock()
	l.buf = append(batch[at:len(batch):len(batch)], l.buf...)
	l.frames += frames - lost
	l.mu.Unlock()
}

// discard empties the queue, and gives up what is kept.
func (l *link) discard(d Drop) {
	l.mu.Lock()
	written := l.giveUpKeptLocked()
	l.spares.Clear()
	queued, _ := l.takeUnlock()
	l.m.lost(l.peer, DropConnLost, written, true)
	l.m.lost(l.peer, d, queued, false)
}

// close lets the link write what it holds for at most linger, and ends it. A link that has no
// connection ends at once, and what waits is lost before close returns.
func (l *link) close(linger time.Duration) {
	l.mu.Lock()
	idle := l.phase == phaseIdle
	l.phase = phaseClosing
	l.progress.Made()
	if l.state.Up && linger > 0 && !idle {
		room := l.room
		l.room = nil
		l.mu.Unlock()
		if room != nil {
			close(room)
		}
		time.AfterFunc(linger, l.stop)
		signal(l.wake)
		return
	}
	waiting, _ := l.takeUnlock()
	l.m.lost(l.peer, DropRemoved, waiting, false)
	l.stop()
}

// retire closes a link of SendAddr that has nothing to write. It reports whether it did.
func (l *link) retire() bool {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.buf) > 0 && l.phase != phaseClosing {
		return false
	}
	l.phase = phaseClosing
	if l.m.addrLinks[l.addr] == l {
		delete(l.m.addrLinks, l.addr)
	}
	return true
}

// target is the address that is dialled.
func (l *link) target() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addr
}

func (l *link) closing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == phaseClosing
}

func (l *link) linkState() LinkState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state
}

// signal leaves a token in a channel of capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
