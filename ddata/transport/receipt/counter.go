package receipt

import (
	"encoding/binary"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Conn is what a Counter needs of its connection.
type Conn interface {
	io.Writer
	SetWriteDeadline(t time.Time) error
}

// Counter is the receiver's side of one connection: what was received on it and before it, and how
// much of that the sender has been told. A nil Counter is that of a connection without receipts.
//
// Invariant: told ≤ received.
type Counter struct {
	conn     Conn
	timeout  time.Duration // of a write
	abort    func()        // closes the connection at once
	received atomic.Uint64 // frames; only the reader adds
	unsaid   int           // bytes since the reader last sent a receipt
	armed    atomic.Bool   // the timer runs
	timer    *time.Timer

	mu     sync.Mutex
	told   uint64
	opened bool // the welcome was written: what is written from now on are receipts
	ends   bool // the receiver departs
}

// NewCounter returns the counter of a connection before which so many frames were received. ends: the
// sender shall be asked to end the connection as soon as it is open. abort closes a connection that
// does not take a receipt.
func NewCounter(conn Conn, timeout time.Duration, received uint64, ends bool, abort func()) *Counter {
	c := &Counter{conn: conn, timeout: timeout, abort: abort, told: received, ends: ends}
	c.received.Store(received)
	c.timer = time.AfterFunc(time.Hour, c.due)
	c.timer.Stop()
	return c
}

// Received is the number of frames that were received.
func (c *Counter) Received() uint64 { return c.received.Load() }

// Took notes what one read brought, all of which the handlers have.
func (c *Counter) Took(frames, bytes int) {
	if c == nil || frames == 0 {
		return
	}
	c.received.Add(uint64(frames))
	if c.unsaid += bytes; c.unsaid >= Every {
		c.unsaid = 0
		c.send()
	} else if !c.armed.Swap(true) {
		c.timer.Reset(delay)
	}
}

func (c *Counter) due() {
	c.armed.Store(false)
	c.send()
}

// send tells the sender what has been received. A connection that does not take it is broken.
func (c *Counter) send() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.received.Load()
	if n == c.told {
		return
	}
	c.told = n
	c.writeLocked(n)
}

// Open lets receipts out: the welcome has been written.
func (c *Counter) Open() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.opened = true; c.ends {
		c.writeLocked(EndAsked)
	}
}

// AskEnd asks the sender to end the connection.
func (c *Counter) AskEnd() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ends = true; c.opened {
		c.writeLocked(EndAsked)
	}
}

// End sends the last receipt. whole: the sender has said that nothing more comes, and all of it was
// received. On a connection that broke, it goes nowhere.
func (c *Counter) End(whole bool) {
	if c == nil {
		return
	}
	c.timer.Stop()
	if !whole {
		c.send()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = c.received.Load()
	c.writeLocked(c.told, AllReceived)
}

// writeLocked writes receipts, or words in their place. A connection that does not take them is
// broken.
func (c *Counter) writeLocked(words ...uint64) {
	b := make([]byte, 0, 2*wordSize)
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	if c.conn.SetWriteDeadline(time.Now().Add(c.timeout)) == nil {
		if _, err := c.conn.Write(b); err == nil {
			return
		}
	}
	c.abort()
}
