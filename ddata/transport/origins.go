package transport

import (
	"maps"
	"net"
	"sync"

	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// origins is the nodes that have connections to this one.
type origins struct {
	roomMax int // of each, for its messages in parts

	mu   sync.Mutex
	byID map[NodeID]*origin // each has a connection
}

// origin is one such node.
type origin struct {
	addr  string                // where it says that it listens
	conns map[net.Conn]net.Conn // as accepted, and with TLS
	room  *frame.Room           // for its messages in parts
}

// enlist adds a connection, and returns the room of its node.
func (o *origins) enlist(h hello, raw, conn net.Conn) *frame.Room {
	o.mu.Lock()
	defer o.mu.Unlock()
	from, ok := o.byID[h.From]
	if !ok {
		from = &origin{conns: map[net.Conn]net.Conn{}, room: frame.NewRoom(o.roomMax)}
		o.byID[h.From] = from
	}
	from.addr = h.Addr
	from.conns[raw] = conn
	return from.room
}

// delist takes a connection away.
func (o *origins) delist(h hello, raw net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from := o.byID[h.From]
	if delete(from.conns, raw); len(from.conns) == 0 {
		delete(o.byID, h.From)
	}
}

// addr is where a node says that it listens.
func (o *origins) addr(id NodeID) (string, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from, ok := o.byID[id]
	if !ok {
		return "", false
	}
	return from.addr, true
}

// of returns the connections of a node.
func (o *origins) of(id NodeID) (addr string, open map[net.Conn]net.Conn) {
	o.mu.Lock()
	defer o.mu.Unlock()
	from, ok := o.byID[id]
	if !ok {
		return "", nil
	}
	return from.addr, maps.Clone(from.conns)
}
