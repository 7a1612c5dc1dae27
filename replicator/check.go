package replicator

import (
	"errors"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/read"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/wire"
	"github.com/coterie-go/coterie/replicator/write"
)

// wellFormed reports whether a message can be taken. What it must carry is there. No clock of a
// peer holds events of this replica that this replica has not made, and no clock of the volatile
// space holds moved items. Items have keys of this data. Those of groups are looked at when they are
// applied.
func wellFormed(spaces *[keyspace.Count]*space, msg wire.Message) bool {
	switch msg := msg.(type) {
	case *wire.Push:
		return msg.Space < keyspace.Count
	case *wire.Ack:
		return msg.Space < keyspace.Count && spaces[msg.Space].sane(msg.Extra)
	case *wire.Holdings:
		return true
	case *wire.Unstored:
		return len(msg.Why) <= write.WhyMax
	case *wire.Clock:
		return msg.Space < keyspace.Count && msg.Content != nil && spaces[msg.Space].sane(msg.Content, msg.Acked) &&
			(msg.Acked == nil || msg.Content.Includes(msg.Acked))
	case *wire.Fetch:
		return msg.Space < keyspace.Count && msg.Dots != nil
	case *wire.LogTruncated:
		return msg.Space < keyspace.Count
	case *wire.Ask:
		return msg.Space < keyspace.Count
	case *wire.Answer:
		return msg.Space < keyspace.Count && spaces[msg.Space].sane(msg.Extra)
	case *wire.Compare:
		return msg.Space < keyspace.Count && msg.More != nil && len(msg.Keys) <= read.ComparedMax &&
			spaces[msg.Space].sane(msg.More)
	case *wire.Compared:
		return msg.Space < keyspace.Count && spaces[msg.Space].sane(msg.Extra)
	case *wire.Report:
		return msg.Space < keyspace.Count && spaces[msg.Space].sane(msg.Acked)
	case *wire.Pull:
		return msg.Space < keyspace.Count && msg.Content != nil && spaces[msg.Space].sane(msg.Content)
	case *wire.Head:
		return msg.Space < keyspace.Count && msg.Clock != nil && spaces[msg.Space].sane(msg.Clock)
	case *wire.MoreCells:
		return msg.Space < keyspace.Count
	case *wire.Cells:
		return msg.Space < keyspace.Count
	case *wire.FetchItems:
		return msg.Space < keyspace.Count && msg.Kind < repair.Kinds && msg.Dots != nil
	case *wire.Items:
		return msg.Space < keyspace.Count && spaces[msg.Space].ownAll(msg.Items)
	case *wire.Done:
		return msg.Space < keyspace.Count
	case *wire.Refuse:
		return msg.Space < keyspace.Count
	case *wire.Part, *wire.PartAck:
		return true
	}
	return false
}

// sane reports whether clocks of a peer hold what a peer can have of a space.
func (s *space) sane(clocks ...*crdt.Clock) bool {
	for _, c := range clocks {
		if c != nil && (c.LastEvent(s.Cfg.Self) > s.Items.Seq() || s.ID == keyspace.Volatile && c.HasMoved()) {
			return false
		}
	}
	return true
}

// ownAll reports whether the keys of items are of this data.
func (s *space) ownAll(items []*crdt.Item) bool {
	return !slices.ContainsFunc(items, func(it *crdt.Item) bool { return s.CheckKey(it.Key) != nil })
}

// Check returns the first broken invariant, for tests and the simulator.
func (m *Machine) Check() error {
	for _, s := range m.spaces {
		if err := s.check(); err != nil {
			return fmt.Errorf("replicator %s: %v: %w", wire.Short(m.site.Cfg.Self), s.ID, err)
		}
	}
	if err := m.move.check(); err != nil {
		return fmt.Errorf("replicator %s: %w", wire.Short(m.site.Cfg.Self), err)
	}
	if err := m.retiring.check(); err != nil {
		return fmt.Errorf("replicator %s: %w", wire.Short(m.site.Cfg.Self), err)
	}
	if err := m.tidying.closed.check(); err != nil && !m.site.Cfg.Planted(defect.FoldUnwitnessed) {
		return fmt.Errorf("replicator %s: %w", wire.Short(m.site.Cfg.Self), err)
	}
	if err := m.tidying.expiry.keys.Check(); err != nil {
		return fmt.Errorf("replicator %s: %w", wire.Short(m.site.Cfg.Self), err)
	}
	if n := m.ops.Pending(); n > m.site.Cfg.PendingMax {
		return fmt.Errorf("replicator %s: %d pending, at most %d",
			wire.Short(m.site.Cfg.Self), n, m.site.Cfg.PendingMax)
	}
	if m.donating.donors.Len() > m.site.Cfg.DonorsMax {
		return fmt.Errorf("replicator %s: %d donations, at most %d",
			wire.Short(m.site.Cfg.Self), m.donating.donors.Len(), m.site.Cfg.DonorsMax)
	}
	return nil
}

func (s *space) check() error {
	if s.Moved || s.AcksMoved {
		return errors.New("the step was not finished")
	}
	for _, err := range []error{
		s.pusher.Check(), s.intake.Check(), s.holding.Check(), s.compares.Check(), s.lookback.Check(),
		s.settlement.Check(),
	} {
		if err != nil {
			return err
		}
	}
	if err := s.Store.Check(); err != nil {
		return err
	}
	last := ""
	for it := range s.Store.Snapshot().Items() {
		if it.Key == last {
			continue
		}
		if last = it.Key; s.CheckKey(last) != nil {
			return fmt.Errorf("%v of %q: %w", it.Dot, last, s.CheckKey(last))
		}
	}
	if s.ID == keyspace.Durable {
		if err := s.Disk.Check(s.Content()); err != nil {
			return err
		}
	}
	return s.checkLinks()
}

func (s *space) checkLinks() error {
	seq := s.Items.Seq()
	for _, p := range s.Peers {
		l := p.Link(s.ID)
		switch {
		case !l.Content.Includes(l.Acked):
			return fmt.Errorf("peer %s has acked %s beyond its content %s",
				wire.Short(p.ID), wire.ClockName(l.Acked), wire.ClockName(l.Content))
		case l.Content.LastEvent(s.Cfg.Self) > seq:
			return fmt.Errorf("peer %s is at %s, of own %d", wire.Short(p.ID), wire.ClockName(l.Content), seq)
		case l.Window.Applied() != l.Content.Base(s.Cfg.Self) || l.Window.Counted() != l.Acked.Base(s.Cfg.Self):
			return fmt.Errorf("peer %s: applied %d, counted %d of %s",
				wire.Short(p.ID), l.Window.Applied(), l.Window.Counted(), wire.ClockName(l.Content))
		}
		if err := errors.Join(l.Window.Check(seq, s.Cfg.PushFlight, p.Voter), p.Flows.Check(),
			p.Coming.Check()); err != nil {
			return fmt.Errorf("peer %s: %w", wire.Short(p.ID), err)
		}
	}
	return nil
}
