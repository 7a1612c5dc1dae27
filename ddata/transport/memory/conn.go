package memory

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// window is how many bytes may be under way in one direction before the writer blocks.
const window = 256 << 10

// conn is one end of a connection.
type conn struct {
	h             *Hub
	local, remote string
	in, out       *half
}

var _ net.Conn = (*conn)(nil)

// pair makes the two ends of a connection.
func (h *Hub) pair(dialler, acceptor string) (mine, theirs *conn) {
	there := newHalf(func() state { return h.weather(dialler, acceptor) })
	back := newHalf(func() state { return h.weather(acceptor, dialler) })
	mine = &conn{h: h, local: dialler, remote: acceptor, in: back, out: there}
	theirs = &conn{h: h, local: acceptor, remote: dialler, in: there, out: back}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.conns[mine], h.conns[theirs] = struct{}{}, struct{}{}
	return mine, theirs
}

// Read reads what has arrived.
func (c *conn) Read(b []byte) (int, error) { return c.in.read(b) }

// Write sends b; it blocks while the window is full.
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }

// Close ends both directions. The other side still reads what was written.
func (c *conn) Close() error {
	c.out.closeWrite()
	c.in.closeRead()
	c.h.mu.Lock()
	delete(c.h.conns, c)
	c.h.mu.Unlock()
	return nil
}

// CloseWrite ends the direction of writing. The other side reads what was written, and then the
// end.
func (c *conn) CloseWrite() error {
	c.out.closeWrite()
	return nil
}

// LocalAddr is this end's address.
func (c *conn) LocalAddr() net.Addr { return address(c.local) }

// RemoteAddr is the other end's address.
func (c *conn) RemoteAddr() net.Addr { return address(c.remote) }

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(t time.Time) error {
	c.in.readLimit.set(t)
	c.out.writeLimit.set(t)
	return nil
}

// SetReadDeadline bounds reads.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.readLimit.set(t)
	return nil
}

// SetWriteDeadline bounds writes.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.writeLimit.set(t)
	return nil
}

// half is one direction of a connection.
type half struct {
	weather               func() state
	readLimit, writeLimit deadline
	readable, writable    chan struct{} // capacity 1: something changed for the goroutine that waits

	mu      sync.Mutex
	packets []packet // in order of arrival
	size    int      // bytes in packets
	ended   bool     // nothing more is written
	endAt   time.Time
	unread  bool  // the reader has closed: what is written goes nowhere
	err     error // the connection was reset
}

// packet is what one write put on the wire.
type packet struct {
	at   time.Time // of arrival, when the wire is not cut
	data []byte
}

func newHalf(weather func() state) *half {
	return &half{
		weather: weather, readable: make(chan struct{}, 1), writable: make(chan struct{}, 1),
		readLimit: newDeadline(), writeLimit: newDeadline(),
	}
}

func (h *half) write(b []byte) (n int, err error) {
	for len(b) > 0 {
		if h.writeLimit.passed() {
			return n, os.ErrDeadlineExceeded
		}
		delay := h.weather().delay
		h.mu.Lock()
		switch {
		case h.err != nil:
			err = h.err
		case h.ended:
			err = net.ErrClosed
		case h.unread:
			err = io.ErrClosedPipe
		}
		if err != nil {
			h.mu.Unlock()
			return n, err
		}
		if free := window - h.size; free > 0 {
			part := b[:min(free, len(b))]
			h.packets = append(h.packets, packet{at: h.arrivalLocked(delay), data: append([]byte(nil), part...)})
			h.size += len(part)
			n += len(part)
			b = b[len(part):]
			h.mu.Unlock()
			notify(h.readable)
			continue
		}
		h.mu.Unlock()
		select {
		case <-h.writable:
		case <-h.writeLimit.wait():
		}
	}
	return n, nil
}

// arrivalLocked keeps packets in order when a delay has become shorter.
func (h *half) arrivalLocked(delay time.Duration) time.Time {
	at := time.Now().Add(delay)
	if n := len(h.packets); n > 0 && h.packets[n-1].at.After(at) {
		return h.packets[n-1].at
	}
	return at
}

func (h *half) read(b []byte) (int, error) {
	for {
		if h.readLimit.passed() {
			return 0, os.ErrDeadlineExceeded
		}
		cut := h.weather().cut
		h.mu.Lock()
		n, wait, err := h.takeLocked(b, cut)
		h.mu.Unlock()
		if n > 0 || err != nil || len(b) == 0 {
			notify(h.writable)
			return n, err
		}
		h.await(wait)
	}
}

// takeLocked moves what has arrived into b; otherwise it tells when to look again, zero for when
// notified.
func (h *half) takeLocked(b []byte, cut bool) (n int, wait time.Duration, err error) {
	if h.unread {
		return 0, 0, net.ErrClosed
	}
	if h.err != nil {
		return 0, 0, h.err
	}
	if cut {
		return 0, 0, nil
	}
	now := time.Now()
	for len(h.packets) > 0 && n < len(b) {
		p := &h.packets[0]
		if d := p.at.Sub(now); d > 0 {
			return n, d, nil
		}
		k := copy(b[n:], p.data)
		n += k
		h.size -= k
		if p.data = p.data[k:]; len(p.data) == 0 {
			h.packets = h.packets[1:]
		}
	}
	if n == 0 && len(h.packets) == 0 && h.ended {
		if d := h.endAt.Sub(now); d > 0 {
			return 0, d, nil
		}
		return 0, 0, io.EOF
	}
	return n, 0, nil
}

func (h *half) await(wait time.Duration) {
	var timer <-chan time.Time
	if wait > 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timer = t.C
	}
	select {
	case <-h.readable:
	case <-timer:
	case <-h.readLimit.wait():
	}
}

func (h *half) wakeReader() { notify(h.readable) }

// closeWrite is the writer's farewell.
func (h *half) closeWrite() {
	delay := h.weather().delay
	h.mu.Lock()
	if !h.ended {
		h.ended = true
		h.endAt = h.arrivalLocked(delay)
	}
	h.mu.Unlock()
	h.notifyAll()
}

// closeRead says that nothing will be read any more.
func (h *half) closeRead() {
	h.mu.Lock()
	h.unread = true
	h.packets, h.size = nil, 0
	h.mu.Unlock()
	h.notifyAll()
}

// fail breaks the direction for both ends.
func (h *half) fail(err error) {
	h.mu.Lock()
	if h.err == nil {
		h.err = err
	}
	h.mu.Unlock()
	h.notifyAll()
}

func (h *half) notifyAll() {
	notify(h.readable)
	notify(h.writable)
}

func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// deadline is a point in time that a wait can end at, and that may be moved meanwhile.
type deadline struct {
	mu *sync.Mutex
	v  *limit
}

// limit is the present value of a deadline.
type limit struct {
	timer *time.Timer
	done  chan struct{} // closed when it has passed
}

func newDeadline() deadline { return deadline{mu: &sync.Mutex{}, v: &limit{done: make(chan struct{})}} }

func (d deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.v.timer != nil {
		d.v.timer.Stop()
		d.v.timer = nil
	}
	if d.passedLocked() {
		d.v.done = make(chan struct{})
	}
	if t.IsZero() {
		return
	}
	done := d.v.done
	if wait := time.Until(t); wait > 0 {
		var timer *time.Timer
		timer = time.AfterFunc(wait, func() {
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.v.timer == timer {
				d.v.timer = nil
				close(done)
			}
		})
		d.v.timer = timer
		return
	}
	close(done)
}

func (d deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.v.done
}

func (d deadline) passed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.passedLocked()
}

func (d deadline) passedLocked() bool {
	select {
	case <-d.v.done:
		return true
	default:
		return false
	}
}
