package transport

import (
	"net"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
)

// gateKey names one direction of a link as its receiver sees it.
type gateKey struct {
	peer   NodeID
	lane   Lane
	stripe uint32
}

// gate lets the connections of one link in, one after the other, in the order of their generations.
//
// The race that it prevents: (1) the sender writes frames into connection 7, which breaks; (2) it
// dials connection 8 and writes the frames after those; (3) the reader of 7 has not come to the end
// of what arrived, when that of 8 hands over its first frame.
//
// In the Data lane a gate outlives its connections, until the sender is removed: it counts the
// frames that came, so that those which did not can be sent again (keep.go).
type gate struct {
	active   *turn  // nil: no connection at present
	waiting  *turn  // of a generation above active's; nil when none waits
	known    bool   // received counts every frame after from
	from     uint64 // frames up to this one were sent before the count began, and may not have come
	received uint64 // frames of all connections that have ended, and those up to from
}

// turn is one connection at a gate.
type turn struct {
	conn       net.Conn
	generation uint64
	draining   atomic.Bool   // its successor waits
	drain      chan struct{} // closed then
	begin      chan struct{} // closed when it is its turn
	obsolete   chan struct{} // closed when a higher generation took its place
	written    uint64        // frames that the sender gave to earlier connections
	acked      uint64        // of written, the frames of which the sender knows what became
	receipts   *receipts     // of the Data lane, from begin on
	room       *frame.Room   // of the sender, in the Data lane
}

// enter queues a connection at its gate: begin is closed as soon as the predecessor has ended. It
// fails when a higher generation is there.
func (m *Mesh) enter(key gateKey, t *turn) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	g, ok := m.gates[key]
	if !ok {
		g = &gate{}
		m.gates[key] = g
	}
	if g.active == nil {
		g.active = t
		close(t.begin)
		return nil
	}
	if g.active.generation >= t.generation || g.waiting != nil && g.waiting.generation >= t.generation {
		return ErrRefused{Reason: RefusedGeneration}
	}
	if g.waiting != nil {
		close(g.waiting.obsolete)
	}
	g.waiting = t
	// The peer that dialled the successor has closed the predecessor, and what is still to come is
	// on its way. So no single read may wait for longer than DrainTimeout from now on: the deadline
	// is for the read that is under way, draining for those after it. Time in handlers does not
	// count.
	if !g.active.draining.Swap(true) {
		close(g.active.drain)
	}
	_ = g.active.conn.SetReadDeadline(time.Now().Add(m.cfg.DrainTimeout))
	return nil
}

// leave ends a connection's turn, or its wait for it.
func (m *Mesh) leave(key gateKey, t *turn) {
	m.mu.Lock()
	defer m.mu.Unlock()
	defer m.quietLocked()
	g := m.gates[key]
	switch t {
	case g.waiting:
		g.waiting = nil
	case g.active:
		if t.receipts != nil {
			g.received = t.receipts.received.Load()
		}
		if g.active, g.waiting = g.waiting, nil; g.active != nil {
			close(g.active.begin)
			return
		}
		if _, peer := (*m.peers.Load())[key.peer]; !g.known || !peer && len(m.gates) > gatesMax {
			delete(m.gates, key)
		}
	}
}

// countFrom begins to count the frames of a connection whose turn it is, and says in the welcome
// from where.
//
// A count begins anew when none is kept, and when the sender has written less than was counted, for
// then the link is another one. The welcome is Fresh as long as the sender does not know what
// became of the frames before the count. The race that this prevents: (1) a sender with frames on
// their way is welcomed as Fresh; (2) the connection breaks before the welcome has come; (3) the
// next welcome would name the new count, which the sender takes for a receipt.
func (m *Mesh) countFrom(key gateKey, t *turn, conn net.Conn, w *answer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	g := m.gates[key]
	if !g.known || t.written < g.received || t.acked < g.from { // what was on its way before must not come twice
		g.known, g.from, g.received = true, t.written, t.written
	}
	w.Fresh = t.acked < g.from
	w.Received = g.received
	t.receipts = newReceipts(conn, m.cfg.WriteTimeout, g.received)
	t.receipts.ends = m.quiet != nil
}

// forgetGatesLocked forgets the counts of a node that is no peer any more.
func (m *Mesh) forgetGatesLocked(id NodeID) {
	for key, g := range m.gates {
		if key.peer == id && g.active == nil {
			delete(m.gates, key)
		}
	}
}
