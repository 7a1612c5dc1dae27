package transport

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
	"github.com/coterie-go/coterie/ddata/transport/receipt"
	"github.com/coterie-go/coterie/ddata/transport/tcp"
)

var (
	// errLost is the way a session learns that its connection was closed by the other side.
	errLost = errors.New("transport: connection closed by the other side")
	// errEndAsked ends the writing of a link whose peer departs.
	errEndAsked = errors.New("transport: the other side takes nothing more")
)

// session is one connection of a link, from its welcome to its end: it writes what is in the queue.
type session struct {
	cfg    *Config
	n      *counters
	q      *queue
	conn   net.Conn
	ctx    context.Context // of the link
	idle   *time.Timer     // of the link's goroutine
	retire func() bool     // of a link of SendAddr; nil: of a peer's

	line   *tcp.Line     // for senders; nil: they do not write
	lost   chan struct{} // closed when the other side has closed the connection
	ending *receipt.Ending
}

// watch reads what the other side sends: receipts and the end in the Data lane, nothing else.
func (s *session) watch() {
	words := receipt.NewReader(s.conn)
	for more := true; more; {
		word, err := words.Next()
		switch {
		case err != nil || s.q.lane != Data:
			more = false
		case word >= receipt.AllReceived:
			more = s.ending.Hear(word)
		default:
			more = s.q.receipt(word)
		}
	}
	abort(s.conn)
	close(s.lost)
}

// run writes frames until the connection ends. Nil says that the link is closed.
func (s *session) run() error {
	s.q.pen.held.Lock()
	defer s.q.pen.held.Unlock()
	defer func() { s.q.keep(s.q.reclaim()) }()
	if s.q.lane == Data {
		s.line = tcp.LineOf(s.conn)
	}
	for {
		if s.ending.IsAsked() {
			if err := s.write(s.q.reclaim()); err != nil {
				return err
			}
			s.obey()
			return errEndAsked
		}
		if s.q.lane == Data && !s.awaitReceipts(s.cfg.DataKeepMax) {
			return errLost
		}
		b, err := s.take()
		if err == errEndAsked {
			continue
		}
		if err != nil {
			return err
		}
		if b.Frames == 0 {
			if s.retire != nil && !s.retire() {
				continue
			}
			s.settle()
			return nil
		}
		if err := s.write(b); err != nil {
			return err
		}
	}
}

// take waits for frames and takes them all. Without an error, an empty batch says that the link is
// closing and has nothing left to write, or that a link of SendAddr was idle for long.
func (s *session) take() (b numbered, err error) {
	for {
		b, idle, closed := s.q.takeOrPark(s.line)
		if b.Frames > 0 || closed {
			return b, nil
		}
		switch {
		case s.retire != nil:
			s.idle.Reset(s.cfg.AddrIdle)
		case idle:
			s.idle.Reset(writeBufferIdle)
		}
		over, err := s.awaitWake()
		s.q.pen.held.Lock()
		if over || err != nil {
			return b, err
		}
	}
}

// awaitWake waits, parked, for frames or the end. over: a link of SendAddr was idle for long.
func (s *session) awaitWake() (over bool, err error) {
	select {
	case <-s.q.wake:
		if s.q.lane == Data {
			runtime.Gosched() // the senders that can run append first: one write is for all of them
		}
		return false, nil
	case <-s.lost:
		return false, errLost
	case <-s.ending.Asked():
		return false, errEndAsked
	case <-s.idle.C:
		s.q.shrink()
		return s.retire != nil, nil
	case <-s.ctx.Done():
		return false, s.ctx.Err()
	}
}

// awaitReceipts waits while more than so many bytes are kept. False: the connection, or the link,
// ended.
func (s *session) awaitReceipts(most int) bool {
	for s.q.keptAbove(most) {
		select {
		case <-s.q.receipts:
		case <-s.lost:
			return false
		case <-s.ctx.Done():
			return false
		}
	}
	return true
}

// write writes a batch to its end and says what becomes of it: it is kept, used again, or lost in
// part.
func (s *session) write(b numbered) error {
	if b.Frames == 0 {
		return nil
	}
	n, err := s.writeAll(b.Buf[b.written:])
	if err == nil {
		s.n.wrote(b.Frames, len(b.Buf))
	}
	switch {
	case s.q.lane == Data:
		s.q.keep(b)
	case err != nil:
		s.putBack(b.Batch, n)
	default:
		s.q.recycle(b.Buf)
	}
	return err
}

// writeAll writes b, with a deadline for every writeMax bytes: what is large may take long, as long
// as it gets on.
func (s *session) writeAll(b []byte) (written int, err error) {
	for err == nil && written < len(b) {
		if err = s.conn.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout)); err != nil {
			break
		}
		var n int
		n, err = s.conn.Write(b[written:min(written+writeMax, len(b))])
		written += n
	}
	return written, err
}

// putBack puts back, before all others, the frames of a batch of which no byte was written, and
// counts those lost of which one was.
func (s *session) putBack(b frame.Batch, written int) {
	lost, at := frame.Begun(b.Buf, written)
	s.n.drop(DropConnLost, lost)
	if at < len(b.Buf) {
		s.q.putFirst(frame.Batch{Buf: b.Buf[at:], Frames: b.Frames - lost})
	}
}

// halfClose tells the other side that nothing more comes. False: a connection of this kind cannot.
func (s *session) halfClose() bool {
	c, ok := s.conn.(interface{ CloseWrite() error })
	return ok && s.q.lane == Data && c.CloseWrite() == nil
}

// settle ends a connection whose link has nothing more to write: it tells the other side so, and
// waits for the last receipt, so that nothing is called lost that has arrived.
func (s *session) settle() {
	if s.halfClose() {
		s.awaitReceipts(0)
	}
}

// obey ends a connection as the receiver wants it, which then says what it has received.
func (s *session) obey() {
	s.q.becomeDeparted()
	if !s.halfClose() {
		return
	}
	t := time.NewTimer(s.cfg.WriteTimeout)
	defer t.Stop()
	select {
	case <-s.lost:
	case <-t.C:
	case <-s.ctx.Done():
	}
}

// abort closes a connection without the farewell of TLS, which could block.
func abort(conn net.Conn) {
	if tc, ok := conn.(*tls.Conn); ok {
		conn = tc.NetConn()
	}
	conn.Close()
}
