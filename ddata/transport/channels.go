package transport

import (
	"maps"
	"net"
	"sync"
	"sync/atomic"

	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// channels is what takes the frames and the streams of each channel. Readers look at the tables
// without a lock; a change replaces a table.
type channels struct {
	n         *counters
	mu        sync.Mutex // of changes
	handlers  atomic.Pointer[map[Channel]Handler]
	rest      atomic.Pointer[func(Channel) Handler]
	acceptors atomic.Pointer[map[Channel]acceptor]
}

// acceptor takes the streams of a channel.
type acceptor = func(from NodeID, conn net.Conn)

func (c *channels) init(n *counters) {
	c.n = n
	c.handlers.Store(&map[Channel]Handler{})
	c.acceptors.Store(&map[Channel]acceptor{})
}

// handle registers the handler of a channel; nil takes it away.
func (c *channels) handle(ch Channel, h Handler) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := maps.Clone(*c.handlers.Load())
	if h == nil {
		delete(next, ch)
	} else {
		next[ch] = h
	}
	c.handlers.Store(&next)
}

// handleStream registers what takes the streams of a channel; nil takes it away.
func (c *channels) handleStream(ch Channel, accept acceptor) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next := maps.Clone(*c.acceptors.Load())
	if accept == nil {
		delete(next, ch)
	} else {
		next[ch] = accept
	}
	c.acceptors.Store(&next)
}

// acceptor returns what takes the streams of a channel; nil: nothing does.
func (c *channels) acceptor(ch Channel) acceptor { return (*c.acceptors.Load())[ch] }

// in finds the handler that takes the frames of a channel, when the table is given.
func (c *channels) in(table *map[Channel]Handler, ch Channel) Handler {
	h := (*table)[ch]
	if rest := c.rest.Load(); h == nil && rest != nil {
		h = (*rest)(ch)
	}
	return h
}

// lost counts frames that were accepted for a peer and may never arrive there, and tells the
// handlers of their channels that want to know. sent: some may have arrived.
func (c *channels) lost(to NodeID, why Drop, batch []byte, sent bool) {
	table := *c.handlers.Load()
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
	c.n.drop(why, n)
}
