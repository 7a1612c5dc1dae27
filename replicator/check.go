package replicator

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/repair"
)

// wellFormed reports whether a message can be taken. What it must carry is there. No clock of a
// peer holds events of this replica that this replica has not made, and no clock of the volatile
// space holds moved items.
func (m *Machine) wellFormed(msg Message) bool {
	switch msg := msg.(type) {
	case *Push:
		return msg.Space < spaces
	case *Ack:
		return msg.Space < spaces
	case *Status:
		return true
	case *Unstored:
		return len(msg.Why) <= whyMax
	case *Clock:
		return msg.Space < spaces && msg.Content != nil && m.sane(msg.Space, msg.Content, msg.Acked) &&
			(msg.Acked == nil || msg.Content.Includes(msg.Acked))
	case *Fetch:
		return msg.Space < spaces && msg.Dots != nil
	case *LogTruncated:
		return msg.Space < spaces
	case *Ask:
		return msg.Space < spaces
	case *Answer:
		return msg.Space < spaces && m.sane(msg.Space, msg.Extra)
	case *Compare:
		return msg.Space < spaces && msg.More != nil && len(msg.Keys) <= comparedMax && m.sane(msg.Space, msg.More)
	case *Compared:
		return msg.Space < spaces && m.sane(msg.Space, msg.Extra)
	case *Report:
		return msg.Space < spaces && m.sane(msg.Space, msg.Acked)
	case *Pull:
		return msg.Space < spaces && msg.Content != nil && m.sane(msg.Space, msg.Content)
	case *Head:
		return msg.Space < spaces && msg.Clock != nil && m.sane(msg.Space, msg.Clock)
	case *MoreCells:
		return msg.Space < spaces
	case *Cells:
		return msg.Space < spaces
	case *FetchItems:
		return msg.Space < spaces && msg.Kind < repair.Kinds && msg.Dots != nil
	case *Items:
		return msg.Space < spaces
	case *Done:
		return msg.Space < spaces
	case *Refuse:
		return msg.Space < spaces
	case *Part, *PartAck:
		return true
	}
	return false
}

func (m *Machine) sane(s Space, clocks ...*crdt.Clock) bool {
	for _, c := range clocks {
		if c != nil && (c.LastEvent(m.cfg.Self) > m.spaces[s].rep.Seq() || s == Volatile && c.HasMoved()) {
			return false
		}
	}
	return true
}

// Check returns the first broken invariant, for tests and the simulator.
func (m *Machine) Check() error {
	for _, s := range m.spaces {
		if err := s.check(); err != nil {
			return fmt.Errorf("replicator %s: %v: %w", short(m.cfg.Self), s.id, err)
		}
	}
	if err := m.move.check(m); err != nil {
		return fmt.Errorf("replicator %s: %w", short(m.cfg.Self), err)
	}
	if m.pending != m.timeouts.len() || m.pending > m.cfg.PendingMax {
		return fmt.Errorf("replicator %s: %d pending, %d wait, at most %d", short(m.cfg.Self), m.pending, m.timeouts.len(), m.cfg.PendingMax)
	}
	if m.donors.Len() > m.cfg.DonorsMax {
		return fmt.Errorf("replicator %s: %d donations, at most %d", short(m.cfg.Self), m.donors.Len(), m.cfg.DonorsMax)
	}
	return nil
}

func (s *space) check() error {
	if err := s.store.Check(); err != nil {
		return err
	}
	d := &s.disk
	switch {
	case s.id == Durable && !s.content().Includes(d.clock):
		return fmt.Errorf("committed %s is not in the content %s", clockName(d.clock), clockName(s.content()))
	case s.id == Durable && d.out == nil && !d.next.dirty && !d.clock.Equal(s.content()):
		return fmt.Errorf("committed %s, content %s, and nothing is on its way", clockName(d.clock), clockName(s.content()))
	case d.out != nil && (!d.out.clock.Includes(d.clock) || !s.content().Includes(d.out.clock)):
		return fmt.Errorf("batch with clock %s between committed %s and content %s", clockName(d.out.clock), clockName(d.clock), clockName(s.content()))
	case s.own.Bytes() > 2*s.m.cfg.BacklogMax && s.own.Len() > 1:
		return fmt.Errorf("%d bytes of own groups", s.own.Bytes())
	case len(s.held) > 0 && !s.crowded() && len(s.frozen) == 0:
		return fmt.Errorf("%d updates are held back for nothing", len(s.held))
	case s.comparing != nil && (len(s.comparing.votes) > len(s.comparing.asked) || s.compareAt.IsZero()):
		return fmt.Errorf("a comparison with %d votes of %d asked, next at %v", len(s.comparing.votes), len(s.comparing.asked), s.compareAt)
	case s.comparing == nil && len(s.linear) > 0 && s.compareAt.IsZero():
		return fmt.Errorf("%d linearizable reads wait for nothing", len(s.linear))
	case s.waiting.Len() > push.WaitingMax:
		return fmt.Errorf("%d groups wait", s.waiting.Len())
	case len(s.owed) > 0 || s.moved || s.ownMoved || s.acksMoved:
		return fmt.Errorf("the step was not finished")
	}
	if err := s.settlement.check(); err != nil {
		return err
	}
	return s.checkLinks()
}

func (s *space) checkLinks() error {
	seq := s.rep.Seq()
	for _, p := range s.m.peers {
		l := p.link(s)
		switch {
		case !l.content.Includes(l.acked):
			return fmt.Errorf("peer %s has acked %s beyond its content %s", short(p.id), clockName(l.acked), clockName(l.content))
		case l.content.LastEvent(s.m.cfg.Self) > seq:
			return fmt.Errorf("peer %s is at %s, of own %d", short(p.id), clockName(l.content), seq)
		case l.window.Applied() != l.content.Base(s.m.cfg.Self) || l.window.Counted() != l.acked.Base(s.m.cfg.Self):
			return fmt.Errorf("peer %s: applied %d, counted %d of %s", short(p.id), l.window.Applied(), l.window.Counted(), clockName(l.content))
		}
		if err := errors.Join(l.window.Check(seq, s.m.cfg.PushFlight, p.voter), p.flows.Check(), p.coming.Check()); err != nil {
			return fmt.Errorf("peer %s: %w", short(p.id), err)
		}
	}
	return nil
}
