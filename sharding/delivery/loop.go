package delivery

import (
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/runloop"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// machine is what the sender's loop runs.
type machine struct{ s *sender }

var _ runloop.Machine[protocol.ProducerInput] = (*machine)(nil)

// Step implements runloop.Machine.
func (m *machine) Step(now time.Time, in protocol.ProducerInput) {
	switch w := in.(type) {
	case protocol.Stored:
		if w.Err == nil {
			m.s.begun = 0
		} else {
			m.s.unstored.Add(1)
		}
	case protocol.Moved:
		in = m.s.takeMoved()
	}
	m.s.carryOut(m.s.m.Step(now, in))
}

// Flush implements runloop.Machine.
func (m *machine) Flush() {
	s, now := m.s, m.s.node.Now()
	m.Step(now, protocol.Flush{})
	for len(s.unsent) > 0 {
		all := s.unsent
		s.unsent = nil
		for _, u := range all {
			m.Step(now, u)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stats, s.gone = s.m.Stats(), s.m.GaveUp()
}

// Deadline implements runloop.Machine.
func (m *machine) Deadline() time.Time { return m.s.m.Deadline() }

// Tick implements runloop.Machine.
func (m *machine) Tick() protocol.ProducerInput { return protocol.Tick{} }

// carryOut does what a step asks for.
func (s *sender) carryOut(fx *protocol.Effects) {
	if b := fx.Store; b != nil {
		s.store(Batch{Generation: s.begun, Add: b.Add, Remove: b.Remove})
	}
	for i := range fx.Send {
		x := &fx.Send[i]
		if err := s.carry(x.Entity, protocol.AppendPacket(nil, &x.Packet)); err != nil {
			s.unsent = append(s.unsent, protocol.Unsent{Entity: x.Entity, Session: x.Packet.Session})
		}
	}
	for _, o := range fx.Done {
		s.answer(o)
	}
	if len(fx.Freed) > 0 {
		s.room.give(fx.Freed...)
	}
}

// store has the queue keep a batch. The batches of a start bring its generation along until one has
// succeeded.
func (s *sender) store(b Batch) {
	var answered atomic.Bool
	done := func(err error) {
		if answered.CompareAndSwap(false, true) {
			s.loop.Force(protocol.Stored{Err: err})
		}
	}
	defer func() {
		if p := recover(); p != nil {
			s.queuePanicked(p, debug.Stack())
			done(fmt.Errorf("Queue.Commit panicked: %v", p)) // it may have called done before, which counts then
		}
	}()
	s.cfg.Queue.Commit(b, done)
}

// queuePanicked tells of a panic of the user's queue: the first, the second, the fourth and so on,
// for the machine tries again.
func (s *sender) queuePanicked(value any, stack []byte) {
	if n := s.panics.Add(1); n&(n-1) == 0 {
		in := fmt.Sprintf("Queue.Commit of producer %q of entity type %q", s.cfg.ID, s.typ)
		s.emit(events.UserCodePanicked{In: in, Panic: fmt.Sprint(value), Stack: string(stack), SoFar: n})
	}
}

func (s *sender) answer(o protocol.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.calls[o.Op]; c != nil {
		c.outcome = o
		close(c.over)
		delete(s.calls, o.Op)
	}
}
