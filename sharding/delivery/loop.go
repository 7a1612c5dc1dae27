package delivery

import (
	"time"

	"github.com/coterie-go/coterie/ddata/drive"
	"github.com/coterie-go/coterie/sharding/delivery/protocol"
)

// machine is what the sender's loop runs.
type machine struct{ s *sender }

var _ drive.Machine[protocol.ProducerInput] = (*machine)(nil)

// Step implements drive.Machine.
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

// Flush implements drive.Machine.
func (m *machine) Flush() {
	s, now := m.s, time.Now()
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

// Deadline implements drive.Machine.
func (m *machine) Deadline() time.Time { return m.s.m.Deadline() }

// Tick implements drive.Machine.
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

// store has the queue keep a batch. The batches of a start bring its generation along until one has succeeded.
func (s *sender) store(b Batch) {
	s.cfg.Queue.Commit(b, func(err error) {
		s.loop.Force(protocol.Stored{Err: err})
	})
}

func (s *sender) answer(o protocol.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if call := s.calls[o.Op]; call != nil {
		call <- o
		delete(s.calls, o.Op)
	}
}
