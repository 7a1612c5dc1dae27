package transport

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/transport/frame"
	"github.com/coterie-go/coterie/ddata/transport/receipt"
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
// frames that came, so that those which did not can be sent again (package receipt).
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
	draining   atomic.Bool      // its successor waits
	drain      chan struct{}    // closed then
	begin      chan struct{}    // closed when it is its turn
	obsolete   chan struct{}    // closed when a higher generation took its place
	written    uint64           // frames that the sender gave to earlier connections
	acked      uint64           // of written, the frames of which the sender knows what became
	receipts   *receipt.Counter // of the Data lane, from begin on
	room       *frame.Room      // of the sender, in the Data lane
}

func newTurn(conn net.Conn, h hello) *turn {
	return &turn{
		conn: conn, generation: h.Generation, written: h.Written, acked: h.Acked,
		begin: make(chan struct{}), obsolete: make(chan struct{}), drain: make(chan struct{}),
	}
}

// gates is the gates of a node.
//
// Invariant: quiet is closed if, and only if, isQuiet.
type gates struct {
	drainTimeout, writeTimeout time.Duration
	isPeer                     func(NodeID) bool // called under mu

	mu      sync.Mutex
	byKey   map[gateKey]*gate
	quiet   chan struct{} // nil before this node departs; closed when the Data lane has no connection to it
	isQuiet bool
}

func (s *gates) init(cfg *Config, isPeer func(NodeID) bool) {
	s.drainTimeout, s.writeTimeout, s.isPeer = cfg.DrainTimeout, cfg.WriteTimeout, isPeer
	s.byKey = map[gateKey]*gate{}
}

// enter queues a connection at its gate: begin is closed as soon as the predecessor has ended. It
// fails when a higher generation is there.
func (s *gates) enter(key gateKey, t *turn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	g, ok := s.byKey[key]
	if !ok {
		g = &gate{}
		s.byKey[key] = g
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
	g.active.becomeDraining(s.drainTimeout)
	return nil
}

// becomeDraining has a turn end, as its successor waits.
//
// The peer that dialled the successor has closed the predecessor, and what is still to come is on
// its way. So no single read may wait for longer than timeout from now on: the deadline is for the
// read that is under way, draining for those after it. Time in handlers does not count.
func (t *turn) becomeDraining(timeout time.Duration) {
	if !t.draining.Swap(true) {
		close(t.drain)
	}
	_ = t.conn.SetReadDeadline(time.Now().Add(timeout))
}

// leave ends a connection's turn, or its wait for it.
func (s *gates) leave(key gateKey, t *turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.quietLocked()
	g := s.byKey[key]
	switch t {
	case g.waiting:
		g.waiting = nil
	case g.active:
		if g.pass(); g.active == nil && (!g.known || !s.isPeer(key.peer) && len(s.byKey) > gatesMax) {
			delete(s.byKey, key)
		}
	}
}

// pass ends the active turn, and begins the one that waits.
func (g *gate) pass() {
	if counter := g.active.receipts; counter != nil {
		g.received = counter.Received()
	}
	if g.active, g.waiting = g.waiting, nil; g.active != nil {
		close(g.active.begin)
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
func (s *gates) countFrom(key gateKey, t *turn, conn net.Conn, w *answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	g := s.byKey[key]
	if !g.known || t.written < g.received || t.acked < g.from { // what was on its way before must not come twice
		g.known, g.from, g.received = true, t.written, t.written
	}
	w.Fresh = t.acked < g.from
	w.Received = g.received
	t.receipts = receipt.NewCounter(conn, s.writeTimeout, g.received, s.quiet != nil, func() { abort(conn) })
}

// forget forgets the counts of a node that is no peer any more.
func (s *gates) forget(id NodeID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, g := range s.byKey {
		if key.peer == id && g.active == nil {
			delete(s.byKey, key)
		}
	}
}

// askToEnd asks for the end of all connections of the Data lane, and of each that comes later. The
// result is closed as soon as none is there. spawn runs what may take long; it is called under mu.
func (s *gates) askToEnd(spawn func(func())) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quiet == nil {
		s.quiet = make(chan struct{})
		for _, g := range s.byKey { // order: each is asked on its own
			if g.active != nil && g.active.receipts != nil {
				spawn(g.active.receipts.AskEnd)
			}
		}
		s.quietLocked()
	}
	return s.quiet
}

// quietLocked closes quiet once this node departs and no connection of the Data lane is there.
func (s *gates) quietLocked() {
	if s.quiet == nil || s.isQuiet {
		return
	}
	for key, g := range s.byKey { // order: whether there is any
		if key.lane == Data && (g.active != nil || g.waiting != nil) {
			return
		}
	}
	s.isQuiet = true
	close(s.quiet)
}
