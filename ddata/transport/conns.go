package transport

import (
	"container/list"
	"net"
	"net/netip"
	"sync"
)

// conns is the connections that others have made to this node, and the streams of both sides. It
// bounds their number, and ends them with the node.
//
// Invariant: a newcomer is one of open, or about to be.
type conns struct {
	max int             // Config.ConnsMax
	n   *counters       // of the node
	all *sync.WaitGroup // every goroutine of the node

	mu        sync.Mutex
	closed    bool // no more of them
	open      map[net.Conn]struct{}
	newcomers newcomers
}

func (c *conns) init(max int, n *counters, all *sync.WaitGroup) {
	c.max, c.n, c.all, c.open = max, n, all, map[net.Conn]struct{}{}
}

// admit gives an accepted connection a place among the newcomers, whose hello has not come; nil =
// there are too many connections. When there are too many newcomers, one has to go: a node says
// hello at once, and is not kept out by those that never do.
func (c *conns) admit(conn net.Conn) *list.Element {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.open) >= c.max {
		return nil
	}
	place, gone := c.newcomers.add(conn)
	if gone != nil {
		abort(gone)
		c.n.drop(DropOverload, 1)
	}
	return place
}

// greeted ends a newcomer's time as one.
func (c *conns) greeted(place *list.Element) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newcomers.waiting.Remove(place) // nothing, if it had to go
}

// spawn runs f in a goroutine that Close waits for, and has Close abort conn. It does nothing but
// to say false once the node is closed.
func (c *conns) spawn(conn net.Conn, f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.open[conn] = struct{}{}
	c.all.Go(f)
	return true
}

// add has Close abort conn. False: the node is closed.
func (c *conns) add(conn net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.open[conn] = struct{}{}
	}
	return !c.closed
}

// forget forgets a connection that is closed.
func (c *conns) forget(conn net.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, conn)
}

// drop closes a connection and forgets it.
func (c *conns) drop(conn net.Conn) {
	abort(conn)
	c.forget(conn)
}

// stream wraps conn, so that its Close is noted. key is what Close of the node aborts.
func (c *conns) stream(key, conn net.Conn) *stream {
	c.n.streams.Add(1)
	return &stream{Conn: conn, forget: sync.OnceFunc(func() {
		c.n.streams.Add(-1)
		c.forget(key)
	})}
}

// close takes no more connections. It reports whether it is the first to do so.
func (c *conns) close() (first bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first = !c.closed
	c.closed = true
	return first
}

func (c *conns) isClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// abortAll closes all connections.
func (c *conns) abortAll() {
	c.mu.Lock()
	open := make([]net.Conn, 0, len(c.open))
	for conn := range c.open {
		open = append(open, conn)
	}
	c.mu.Unlock()
	for _, conn := range open {
		abort(conn)
	}
}

// stream is a raw connection that Close of the mesh knows of.
type stream struct {
	net.Conn
	forget func()
}

// Close closes the connection.
func (s *stream) Close() error {
	s.forget()
	return s.Conn.Close()
}

// newcomers are the accepted connections whose hello has not come: at most handshakesMax.
type newcomers struct {
	waiting list.List // of newcomer; the oldest first
}

type newcomer struct {
	conn net.Conn
	from string // its source
}

// add gives a connection a place. gone is the connection that has to go for it; nil: none has.
func (n *newcomers) add(conn net.Conn) (place *list.Element, gone net.Conn) {
	if n.waiting.Len() >= handshakesMax {
		gone = n.waiting.Remove(n.crowded()).(newcomer).conn
	}
	return n.waiting.PushBack(newcomer{conn: conn, from: sourceOf(conn)}), gone
}

// crowded returns the newcomer that has to go: the oldest of the source that has the most. So a
// crowd from few hosts, however fast it comes, does not end the handshakes of others, which may
// take long on a slow line.
func (n *newcomers) crowded() *list.Element {
	count, most := map[string]int{}, 0
	for e := n.waiting.Front(); e != nil; e = e.Next() {
		from := e.Value.(newcomer).from
		count[from]++
		most = max(most, count[from])
	}
	e := n.waiting.Front()
	for count[e.Value.(newcomer).from] < most {
		e = e.Next()
	}
	return e
}

// sourceOf names the host that a connection comes from: its address, of IPv6 the network of 64
// bits, which one host has whole.
func sourceOf(conn net.Conn) string {
	host := hostOf(conn)
	ip, err := netip.ParseAddr(host)
	if err != nil || ip.Is4() || ip.Is4In6() {
		return host
	}
	network, err := ip.WithZone("").Prefix(64)
	if err != nil {
		return host
	}
	return network.String()
}
