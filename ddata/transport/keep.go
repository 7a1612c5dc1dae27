package transport

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// Nothing is lost between two living nodes in the Data lane, although connections break: the sender
// keeps what it has written until a receipt comes, and the receiver counts what it has taken.
//
//	link                                              gate
//	written: frames handed to connections             received: frames handed to handlers
//	   │ hello, written, acked ───────────────────────► │
//	   │ ◄────────────────────────── welcome, received  │   what is above goes out again, first of all
//	   │ frame frame frame … ─────────────────────────► │
//	   │ ◄───────────────────────── receipt: received   │   eight bytes, little endian
//
// A receipt is due after receiptEvery bytes, and receiptDelay after a frame that none has covered,
// so that the last frames of a burst are not kept for long.
const (
	receiptEvery = 64 << 10
	receiptDelay = 25 * time.Millisecond
	receiptSize  = 8
)

// keeper holds what a link has written and has no receipt for. The link's mu guards it.
//
// A large batch is kept in the buffer in which it was written, the link's again after the receipt.
// Small ones are copied into chunks: their buffers would be many, and mostly empty.
//
// Invariants: acked ≤ written; chunks hold the frames from acked, or a little below it, to written,
// except those of a write that is under way. bytes is what they hold, lent the size of the buffers
// among them.
type keeper struct {
	written uint64 // frames handed to connections; what went out again counts once
	acked   uint64 // the last receipt
	chunks  []keptChunk
	bytes   int
	lent    int
	lost    int           // how often something that was kept was given up
	free    [][]byte      // of chunks that are not in use
	room    chan struct{} // capacity 1: a receipt has come
}

// keptChunk holds batches, and the rest of one that began in the chunk before; or one large batch.
type keptChunk struct {
	data  []byte // in chunkSize bytes, or the buffer of the batch
	large bool
	rest  int    // of data, that belong to a batch of the chunk before
	last  uint64 // the number, from 1, of the last frame of the last batch that has bytes here
}

const (
	chunkSize = 64 << 10 // one of the sizes in which memory is given out
	keepWhole = 32 << 10 // a batch of so many bytes is large
)

// keep takes a batch after its write has ended, well or not.
func (l *link) keep(batch []byte, last uint64) {
	if len(batch) >= keepWhole && l.keepLarge(batch, last) {
		return
	}
	for rest, begun := batch, false; len(rest) > 0; begun = true {
		rest = l.keepSome(rest, last, begun) // the lock is let go of between two chunks: senders wait for it
	}
	l.recycle(batch)
}

// keepLarge keeps a batch in its own buffer, unless too much memory is lent in that way.
func (l *link) keepLarge(batch []byte, last uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := &l.kept
	if last <= k.acked || k.lent+cap(batch) > 2*l.m.cfg.DataKeepMax {
		return false
	}
	k.chunks = append(k.chunks, keptChunk{data: batch, large: true, last: last})
	k.bytes += len(batch)
	k.lent += cap(batch)
	return true
}

// keepSome copies what fits into one chunk, and returns the rest of the batch.
func (l *link) keepSome(batch []byte, last uint64, begun bool) (rest []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := &l.kept
	if last <= k.acked {
		return nil
	}
	n := len(k.chunks)
	fresh := n == 0 || k.chunks[n-1].large || len(k.chunks[n-1].data) == cap(k.chunks[n-1].data)
	if fresh {
		k.chunks = append(k.chunks, keptChunk{data: k.chunk()})
	}
	c := &k.chunks[len(k.chunks)-1]
	n = min(len(batch), cap(c.data)-len(c.data))
	if begun && fresh { // else a receipt in between has made room in the chunk with the rest of the batch
		c.rest = n
	}
	c.data = append(c.data, batch[:n]...)
	c.last = last
	k.bytes += n
	return batch[n:]
}

// chunk returns an empty chunk.
func (k *keeper) chunk() []byte {
	n := len(k.free)
	if n == 0 {
		return make([]byte, 0, chunkSize)
	}
	c := k.free[n-1]
	k.free = k.free[:n-1]
	return c
}

// writing numbers the frames of a batch that is about to be written, and returns the last number.
func (l *link) writing(frames int) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept.written += uint64(frames)
	l.inHand = 0
	return l.kept.written
}

// receipt lets go of what has arrived. False: no correct receiver says so.
func (l *link) receipt(received uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if received < l.kept.acked || received > l.kept.written {
		return false
	}
	l.releaseLocked(received)
	signal(l.kept.room)
	return true
}

// releaseLocked lets go of all chunks up to a frame.
func (l *link) releaseLocked(received uint64) {
	k := &l.kept
	k.acked = received
	l.progress.Made()
	n := 0
	for ; n < len(k.chunks) && k.chunks[n].last <= received; n++ {
		c := k.chunks[n]
		k.bytes -= len(c.data)
		if c.large {
			k.lent -= cap(c.data)
			l.spares.Put(c.data)
		} else if len(k.free) < freeChunksMax {
			k.free = append(k.free, c.data[:0])
		}
	}
	left := copy(k.chunks, k.chunks[n:])
	clear(k.chunks[left:])
	if k.chunks = k.chunks[:left]; n == 0 || left == 0 {
		return
	}
	c := &k.chunks[0]
	if c.rest == 0 {
		return
	}
	k.bytes -= c.rest // it begins with a whole frame again
	c.data = append(c.data[:0], c.data[c.rest:]...)
	c.rest = 0
}

// awaitReceipts waits while more than so many bytes are kept. False: the connection, or the link,
// ended.
func (l *link) awaitReceipts(lost <-chan struct{}, most int) bool {
	for {
		l.mu.Lock()
		more := l.kept.bytes > most
		l.mu.Unlock()
		if !more {
			return true
		}
		select {
		case <-l.kept.room:
		case <-lost:
			return false
		case <-l.ctx.Done():
			return false
		}
	}
}

// received is the last receipt.
func (l *link) received() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.kept.acked
}

// resume puts back, before all others, what the other side of a new connection has not received.
// When that side knows nothing of earlier connections, what is kept may have arrived or not: it is
// given up, and counted. The next hello says so by its Acked; until then the other side repeats
// that it knows nothing.
func (l *link) resume(w answer) {
	l.mu.Lock()
	k := &l.kept
	if w.Fresh || w.Received < k.acked || w.Received > k.written {
		lost := l.giveUpKeptLocked()
		l.mu.Unlock()
		l.m.lost(l.peer, DropConnLost, lost, true)
		return
	}
	defer l.mu.Unlock()
	l.releaseLocked(w.Received)
	if k.written == w.Received {
		return
	}
	again := k.written - w.Received
	l.buf = append(l.takeKeptLocked(), l.buf...)
	l.frames += int(again)
	l.m.n.resent.Add(again)
	k.written, k.acked = w.Received, w.Received
}

// takeKeptLocked returns the frames that are kept and above the last receipt, and keeps them no
// longer.
func (l *link) takeKeptLocked() []byte {
	k := &l.kept
	var all []byte
	for _, c := range k.chunks {
		all = append(all, c.data...)
	}
	all = all[frame.Skip(all, frame.Count(all)-int(k.written-k.acked)):]
	k.chunks, k.free, k.bytes, k.lent, k.acked = nil, nil, 0, 0, k.written
	l.progress.Made()
	return all
}

// giveUpKeptLocked is takeKeptLocked for frames that may have arrived or not, and are not sent
// again.
func (l *link) giveUpKeptLocked() []byte {
	if l.kept.acked < l.kept.written {
		l.kept.lost++
	}
	return l.takeKeptLocked()
}

// lost counts frames that were accepted for a peer and may never arrive there, and tells the
// handlers of their channels that want to know. sent: some may have arrived.
func (m *Mesh) lost(to NodeID, why Drop, batch []byte, sent bool) {
	table := *m.handlers.Load()
	n := 0
	for len(batch) > 0 {
		var lost frame.Message
		lost, batch = frame.Next(batch)
		if lost.Begins {
			n++
		}
		if h, wanted := table[Channel(lost.Channel)].(LossHandler); wanted && lost.Whole {
			h.Lost(to, lost.Payload, sent)
		}
	}
	m.n.drop(why, n)
}

// receipts is the receiver's side of one connection in the Data lane: what was received on it and
// before it, and how much of that the sender has been told.
type receipts struct {
	conn     net.Conn
	timeout  time.Duration // of a write
	received atomic.Uint64 // frames; only the reader adds
	unsaid   int           // bytes since the reader last sent a receipt
	armed    atomic.Bool   // the timer runs
	timer    *time.Timer

	mu     sync.Mutex
	told   uint64
	opened bool // the welcome was written: what is written from now on are receipts
	ends   bool // the receiver departs
}

func newReceipts(conn net.Conn, timeout time.Duration, received uint64) *receipts {
	r := &receipts{conn: conn, timeout: timeout, told: received}
	r.received.Store(received)
	r.timer = time.AfterFunc(time.Hour, r.due)
	r.timer.Stop()
	return r
}

// took notes what one read brought, all of which the handlers have.
func (r *receipts) took(frames, bytes int) {
	if r == nil || frames == 0 {
		return
	}
	r.received.Add(uint64(frames))
	if r.unsaid += bytes; r.unsaid >= receiptEvery {
		r.unsaid = 0
		r.send()
	} else if !r.armed.Swap(true) {
		r.timer.Reset(receiptDelay)
	}
}

func (r *receipts) due() {
	r.armed.Store(false)
	r.send()
}

// send tells the sender what has been received. A connection that does not take it is broken.
func (r *receipts) send() {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.received.Load()
	if n == r.told {
		return
	}
	r.told = n
	r.writeLocked(n)
}
