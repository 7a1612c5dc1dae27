package faulty

import (
	"errors"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

const (
	packetMax = 16 << 10        // bytes that are carried at a time
	window    = 16              // packets under way in one direction; then the writer waits
	lingerMax = 5 * time.Second // how long a connection that was closed tries to bring what was written
)

// conn is one dialled connection. Its user holds the front of a pipe; behind it one carrier for
// each direction brings what is written to the other side, as late as the weather wants it.
//
//	user ── front ═ back ── there: queue ──► inner ── the other side
//	                back ◄── back: queue ─── inner
type conn struct {
	net.Conn // the front
	back     net.Conn
	inner    net.Conn
	w        *Wires
	there    wire

	torn    chan struct{}
	tearing sync.Once
	half    atomic.Bool // CloseWrite was called
	brought atomic.Bool // after that, all that was written
	left    atomic.Bool // the user has closed it
}

// packet is what one read brought; the last one of a direction has no data.
type packet struct {
	at   time.Time
	data []byte
}

// carry begins to carry a connection.
func (w *Wires) carry(inner net.Conn, there wire) (net.Conn, error) {
	c := &conn{inner: inner, w: w, there: there, torn: make(chan struct{})}
	c.Conn, c.back = net.Pipe()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		inner.Close()
		return nil, &net.OpError{Op: "dial", Net: "faulty", Err: net.ErrClosed}
	}
	w.conns[c] = struct{}{}
	out, in := make(chan packet, window), make(chan packet, window)
	var both sync.WaitGroup
	for _, f := range []func(){
		func() { c.collect(c.back, there, out) },
		func() { c.bring(c.inner, there, out, c.endThere) },
		func() { c.collect(c.inner, wire{there.to, there.from}, in) },
		func() { c.bring(c.back, wire{there.to, there.from}, in, c.endBack) },
	} {
		both.Add(1)
		w.wg.Go(func() {
			defer both.Done()
			f()
		})
	}
	w.wg.Go(func() {
		both.Wait()
		c.tear()
	})
	return c, nil
}

// collect puts what one side writes on the wire.
func (c *conn) collect(from net.Conn, x wire, queue chan<- packet) {
	defer close(queue)
	var last time.Time
	for {
		b := make([]byte, packetMax)
		n, err := from.Read(b)
		if n > 0 {
			at, breaks := c.w.arrival(x, n, last)
			if breaks {
				c.tear()
				return
			}
			last = at
			select {
			case queue <- packet{at: at, data: b[:n]}:
			case <-c.torn:
				return
			}
		}
		if err != nil && !(errors.Is(err, os.ErrDeadlineExceeded) && !c.half.Load()) {
			at, _ := c.w.arrival(x, 0, last)
			select {
			case queue <- packet{at: at}:
			case <-c.torn:
			}
			return
		}
	}
}

// bring takes what is on the wire to the other side; end is called when the last of it is there.
func (c *conn) bring(to net.Conn, x wire, queue <-chan packet, end func()) {
	for p := range queue {
		if !c.w.cross(x, p.at, c.torn) {
			return
		}
		if p.data == nil {
			end()
			return
		}
		if _, err := to.Write(p.data); err != nil {
			c.tear()
			return
		}
	}
}

// endThere tells the other side that nothing more comes.
func (c *conn) endThere() {
	h, ok := c.inner.(interface{ CloseWrite() error })
	if !ok || !c.half.Load() || h.CloseWrite() != nil {
		c.tear()
		return
	}
	if c.brought.Store(true); c.left.Load() {
		c.tear()
	}
}

// endBack tells the user that nothing more comes.
func (c *conn) endBack() { c.back.Close() }

// tear ends the connection for both sides.
func (c *conn) tear() {
	c.tearing.Do(func() {
		close(c.torn)
		c.inner.Close()
		c.back.Close()
		c.w.mu.Lock()
		delete(c.w.conns, c)
		c.w.mu.Unlock()
	})
}

// Close ends the connection: what was written before is still brought to the other side, if it can
// be soon.
func (c *conn) Close() error {
	if c.left.Swap(true) {
		return nil
	}
	err := c.Conn.Close()
	if c.brought.Load() {
		c.tear()
		return err
	}
	time.AfterFunc(lingerMax, c.tear)
	return err
}

// CloseWrite tells the other side, behind all that was written, that nothing more comes.
func (c *conn) CloseWrite() error {
	if _, ok := c.inner.(interface{ CloseWrite() error }); !ok {
		return errors.ErrUnsupported
	}
	c.half.Store(true)
	return c.back.SetReadDeadline(time.Unix(1, 0)) // a write to a pipe returns when it was read: nothing is left behind
}

// SetDeadline sets both deadlines.
func (c *conn) SetDeadline(t time.Time) error { return c.unlessLeft(c.Conn.SetDeadline(t)) }

// SetReadDeadline bounds reads.
func (c *conn) SetReadDeadline(t time.Time) error { return c.unlessLeft(c.Conn.SetReadDeadline(t)) }

// SetWriteDeadline bounds writes.
func (c *conn) SetWriteDeadline(t time.Time) error { return c.unlessLeft(c.Conn.SetWriteDeadline(t)) }

// unlessLeft lets a connection that the other side has ended behave like one of TCP: only reading
// and writing tell.
func (c *conn) unlessLeft(err error) error {
	if c.left.Load() {
		return err
	}
	return nil
}

// LocalAddr is the wrapped connection's.
func (c *conn) LocalAddr() net.Addr { return c.inner.LocalAddr() }

// RemoteAddr is the wrapped connection's.
func (c *conn) RemoteAddr() net.Addr { return c.inner.RemoteAddr() }
