package memory

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"fmt"
	"net"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/coterie-go/coterie/ddata/transport"
)

// Hub is the wires between addresses. The zero value is not usable; see NewHub.
type Hub struct {
	mu        sync.Mutex
	listeners map[string]*listener
	wires     map[wire]*state
	conns     map[*conn]struct{}
	nodes     map[*node]struct{} // those that were not killed
	nextPort  int
}

// wire is one direction between two hosts.
type wire struct{ from, to string }

// state of a wire. What may change is replaced under the hub's mutex; healed is closed when a cut
// ends.
type state struct {
	cut    bool
	delay  time.Duration
	healed chan struct{} // not nil while cut
}

// NewHub makes a hub without nodes, cuts or delays.
func NewHub() *Hub {
	return &Hub{
		listeners: map[string]*listener{}, wires: map[wire]*state{}, conns: map[*conn]struct{}{},
		nodes: map[*node]struct{}{}, nextPort: 40000,
	}
}

// Start runs a mesh over the hub at addr, which should be an IP and a port (10.0.0.1:7946). It sets
// cfg's Network, and where they are empty Bind, Self (a random uid) and Cluster ("test").
func (h *Hub) Start(addr string, cfg transport.Config) (*transport.Mesh, error) {
	cfg.Network = h.At(addr)
	if cfg.Bind == "" {
		cfg.Bind = addr
	}
	if cfg.Cluster == "" {
		cfg.Cluster = "test"
	}
	if cfg.Self == 0 {
		var b [8]byte
		_, _ = rand.Read(b[:]) // never fails
		cfg.Self = transport.NodeID(binary.LittleEndian.Uint64(b[:]) | 1)
	}
	return transport.Listen(context.Background(), cfg)
}

// Addr is the i-th of a row of addresses that look like those of real nodes.
func Addr(i int) string { return fmt.Sprintf("10.0.%d.%d:7946", i>>8, i&255) }

// At is the network as a new process at addr sees it: what it dials comes from there.
func (h *Hub) At(addr string) transport.Network {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := &node{h: h, addr: addr}
	h.nodes[n] = struct{}{}
	return n
}

// Cut stops everything from one address to another, until Heal. The other direction is not touched.
func (h *Hub) Cut(from, to string) { h.change(from, to, true) }

// CutBoth stops everything between two addresses, until HealBoth.
func (h *Hub) CutBoth(a, b string) {
	h.Cut(a, b)
	h.Cut(b, a)
}

// Heal ends a cut: what was on its way arrives.
func (h *Hub) Heal(from, to string) { h.change(from, to, false) }

// HealBoth ends the cuts between two addresses.
func (h *Hub) HealBoth(a, b string) {
	h.Heal(a, b)
	h.Heal(b, a)
}

// Delay makes everything that is sent from now on from one address to another arrive d later.
func (h *Hub) Delay(from, to string, d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.wireLocked(from, to).delay = d
}

// Kill is the sudden end of the process at an address: its listener closes, its connections are
// reset, and it cannot dial any more. A peer that is cut off from it at that moment learns nothing.
// Another process may be started there with At. The Mesh of the killed one must still be closed.
func (h *Hub) Kill(addr string) {
	h.mu.Lock()
	for n := range h.nodes {
		if n.addr == addr {
			delete(h.nodes, n)
		}
	}
	l := h.listeners[addr]
	delete(h.listeners, addr)
	broken := h.connsLocked(func(c *conn) bool {
		return c.local == addr && !h.wireLocked(addr, c.remote).cut ||
			c.remote == addr && !h.wireLocked(addr, c.local).cut
	})
	h.mu.Unlock()
	if l != nil {
		l.close()
	}
	reset(broken)
}

func (h *Hub) connsLocked(match func(*conn) bool) []*conn {
	var cs []*conn
	for c := range h.conns {
		if match(c) {
			cs = append(cs, c)
		}
	}
	return cs
}

func reset(cs []*conn) {
	for _, c := range cs {
		c.out.fail(syscall.ECONNRESET)
		c.in.fail(syscall.ECONNRESET)
	}
}

func (h *Hub) wireLocked(from, to string) *state {
	w := wire{from, to}
	s, ok := h.wires[w]
	if !ok {
		s = &state{}
		h.wires[w] = s
	}
	return s
}

func (h *Hub) change(from, to string, cut bool) {
	h.mu.Lock()
	s := h.wireLocked(from, to)
	if s.cut != cut {
		s.cut = cut
		if cut {
			s.healed = make(chan struct{})
		} else {
			close(s.healed)
			s.healed = nil
		}
	}
	touched := h.connsLocked(func(c *conn) bool { return c.local == from && c.remote == to })
	h.mu.Unlock()
	for _, c := range touched {
		c.out.wakeReader()
	}
}

// weather is the present state of a wire.
func (h *Hub) weather(from, to string) state {
	h.mu.Lock()
	defer h.mu.Unlock()
	return *h.wireLocked(from, to)
}

// node is a Network at one address, for one process.
type node struct {
	h    *Hub
	addr string
}

var _ transport.Network = (*node)(nil)

// Listen listens at addr; port 0 picks a free one.
func (n *node) Listen(_ context.Context, addr string) (net.Listener, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	n.h.mu.Lock()
	defer n.h.mu.Unlock()
	if port == "0" {
		n.h.nextPort++
		addr = net.JoinHostPort(host, strconv.Itoa(n.h.nextPort))
	}
	if _, taken := n.h.listeners[addr]; taken {
		return nil, &net.OpError{Op: "listen", Net: "memory", Addr: address(addr), Err: syscall.EADDRINUSE}
	}
	l := &listener{h: n.h, addr: addr, incoming: make(chan *conn), closed: make(chan struct{})}
	n.h.listeners[addr] = l
	return l, nil
}

// Dial connects to the listener at addr.
func (n *node) Dial(ctx context.Context, addr string) (net.Conn, error) {
	if !n.alive() {
		return nil, dialError(addr, syscall.ENETDOWN)
	}
	there, back := n.h.weather(n.addr, addr), n.h.weather(addr, n.addr)
	if err := cross(ctx, there); err != nil {
		return nil, dialError(addr, err)
	}
	n.h.mu.Lock()
	l := n.h.listeners[addr]
	n.h.mu.Unlock()
	if err := cross(ctx, back); err != nil {
		return nil, dialError(addr, err)
	}
	if l == nil {
		return nil, dialError(addr, syscall.ECONNREFUSED)
	}
	if !n.alive() {
		return nil, dialError(addr, syscall.ENETDOWN)
	}
	mine, theirs := n.h.pair(n.addr, addr)
	select {
	case l.incoming <- theirs:
		return mine, nil
	case <-l.closed:
		mine.Close()
		theirs.Close()
		return nil, dialError(addr, syscall.ECONNREFUSED)
	case <-ctx.Done():
		mine.Close()
		theirs.Close()
		return nil, dialError(addr, ctx.Err())
	}
}

// alive reports whether the process was not killed.
func (n *node) alive() bool {
	n.h.mu.Lock()
	defer n.h.mu.Unlock()
	_, ok := n.h.nodes[n]
	return ok
}

// cross waits as long as one packet takes over a wire.
func cross(ctx context.Context, s state) error {
	if s.cut {
		select {
		case <-s.healed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if s.delay > 0 {
		t := time.NewTimer(s.delay)
		defer t.Stop()
		select {
		case <-t.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

func dialError(addr string, err error) error {
	return &net.OpError{Op: "dial", Net: "memory", Addr: address(addr), Err: err}
}

// listener is the listening end of an address.
type listener struct {
	h        *Hub
	addr     string
	incoming chan *conn
	once     sync.Once
	closed   chan struct{}
}

// Accept waits for a connection.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.incoming:
		return c, nil
	case <-l.closed:
		return nil, fmt.Errorf("memory: accept at %s: %w", l.addr, net.ErrClosed)
	}
}

// Close ends listening; the address is free again.
func (l *listener) Close() error {
	l.h.mu.Lock()
	if l.h.listeners[l.addr] == l {
		delete(l.h.listeners, l.addr)
	}
	l.h.mu.Unlock()
	l.close()
	return nil
}

func (l *listener) close() { l.once.Do(func() { close(l.closed) }) }

// Addr is where it listens.
func (l *listener) Addr() net.Addr { return address(l.addr) }

// address is a net.Addr.
type address string

// Network names the kind of address.
func (a address) Network() string { return "memory" }

// String is the address itself.
func (a address) String() string { return string(a) }
