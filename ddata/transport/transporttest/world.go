package transporttest

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// World says how the suite starts transports of one kind.
type World struct {
	// Bubble runs one case; nil runs it plainly. Worlds in virtual time give synctest.Test here.
	Bubble func(t *testing.T, f func(t *testing.T))
	// Start opens one universe of addresses for a case.
	Start func(t *testing.T) Universe
	// Configure, when set, changes the configuration of every transport, before the case does.
	Configure func(*transport.Config)
}

// Universe is where the transports of one case can reach each other.
type Universe interface {
	// Site is a place for one process: its network, and an address to bind that is free.
	Site() (network transport.Network, bind string)
}

// patience bounds every wait of the suite.
const patience = 20 * time.Second

// node is a transport under test with what it reported.
type node struct {
	transport.Transport
	wire *breaker

	mu       sync.Mutex
	links    []transport.LinkEvent
	refusals []transport.Refusal
}

// cluster is the state of one case.
type cluster struct {
	t         *testing.T
	u         Universe
	configure func(*transport.Config)
	next      transport.NodeID
}

// start runs one more node. edit may change its configuration.
func (c *cluster) start(edit func(*transport.Config)) *node {
	c.t.Helper()
	network, bind := c.u.Site()
	return c.startAt(network, bind, edit)
}

func (c *cluster) startAt(network transport.Network, bind string, edit func(*transport.Config)) *node {
	c.t.Helper()
	c.next++
	n := &node{wire: newBreaker(network)}
	cfg := transport.Config{
		Cluster: "suite", Self: c.next, Bind: bind, Network: n.wire,
		OnEvent: n.hear,
	}
	for _, f := range []func(*transport.Config){c.configure, edit} {
		if f != nil {
			f(&cfg)
		}
	}
	m, err := transport.Listen(c.t.Context(), cfg)
	if err != nil {
		c.t.Fatalf("start: %v", err)
	}
	n.Transport = m
	c.t.Cleanup(func() { m.Close() })
	return n
}

// hear keeps what happens to the connections of n.
func (n *node) hear(e transport.Event) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e := e.(type) {
	case transport.LinkEvent:
		n.links = append(n.links, e)
	case transport.Refusal:
		n.refusals = append(n.refusals, e)
	}
}

// pair is two nodes, the first of which has the second as a peer.
func (c *cluster) pair(edit func(*transport.Config)) (a, b *node) {
	c.t.Helper()
	a, b = c.start(edit), c.start(edit)
	c.join(a, b)
	return a, b
}

func (c *cluster) join(a, b *node) {
	c.t.Helper()
	if err := a.AddPeer(b.Self(), b.Addr()); err != nil {
		c.t.Fatalf("AddPeer: %v", err)
	}
}

// eventually waits until cond holds.
func (c *cluster) eventually(what string, cond func() bool) {
	c.t.Helper()
	c.await(nil, what, cond)
}

// progress waits until cond holds, and looks again whenever r received something: in a bubble no
// timer fires while somebody is busy sending.
func (c *cluster) progress(r *recorder, what string, cond func() bool) {
	c.t.Helper()
	c.await(r.moved, what, cond)
}

func (c *cluster) await(moved <-chan struct{}, what string, cond func() bool) {
	c.t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-moved:
		case <-limit.C:
			c.t.Fatalf("after %v still not: %s", patience, what)
		}
	}
}

// awaitUp waits until a has a connection to b in a lane.
func (c *cluster) awaitUp(a, b *node, lane transport.Lane) {
	c.t.Helper()
	c.eventually("up", func() bool { return a.Connected(b.Self(), lane, 0).Up })
}

func (n *node) refused(match func(transport.Refusal) bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.refusals {
		if match(r) {
			return true
		}
	}
	return false
}

func (n *node) events(lane transport.Lane, stripe uint32) []transport.LinkEvent {
	n.mu.Lock()
	defer n.mu.Unlock()
	var es []transport.LinkEvent
	for _, e := range n.links {
		if e.Lane == lane && e.Stripe == stripe {
			es = append(es, e)
		}
	}
	return es
}

// breaker is a Network that can break what runs over another one.
type breaker struct {
	transport.Network

	mu      sync.Mutex
	dialled map[net.Conn]struct{}
	down    error
}

// newBreaker wraps a network.
func newBreaker(n transport.Network) *breaker {
	return &breaker{Network: n, dialled: map[net.Conn]struct{}{}}
}

// Dial dials, unless Down said otherwise.
func (b *breaker) Dial(ctx context.Context, addr string) (net.Conn, error) {
	b.mu.Lock()
	down := b.down
	b.mu.Unlock()
	if down != nil {
		return nil, down
	}
	conn, err := b.Network.Dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.dialled[conn] = struct{}{}
	return &tracked{Conn: conn, b: b}, nil
}

// Down makes dialling fail with err; nil ends it.
func (b *breaker) Down(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.down = err
}

// Break closes every connection that was dialled through b and is open.
func (b *breaker) Break() {
	b.mu.Lock()
	open := make([]net.Conn, 0, len(b.dialled))
	for c := range b.dialled {
		open = append(open, c)
	}
	b.mu.Unlock()
	for _, c := range open {
		c.Close()
	}
}

// tracked is a connection that its breaker forgets when it is closed.
type tracked struct {
	net.Conn
	b *breaker
}

// CloseWrite ends the direction of writing, where the network can.
func (t *tracked) CloseWrite() error {
	if c, ok := t.Conn.(interface{ CloseWrite() error }); ok {
		return c.CloseWrite()
	}
	return errors.ErrUnsupported
}

// Close closes the connection.
func (t *tracked) Close() error {
	t.b.mu.Lock()
	delete(t.b.dialled, t.Conn)
	t.b.mu.Unlock()
	return t.Conn.Close()
}
