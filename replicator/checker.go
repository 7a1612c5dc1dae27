package replicator

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/wire"
)

// Check returns the first broken invariant, for tests and the simulator.
func (m *Machine) Check() error { return NewChecker(m).Check() }

// Checker checks a machine after its steps. Of the stores it looks at what has changed since its last
// check, see crdt.Checker.
type Checker struct {
	m      *Machine
	stores [keyspace.Count]*crdt.Checker
}

// NewChecker returns a checker of a machine, whose first check looks at everything.
func NewChecker(m *Machine) *Checker {
	k := &Checker{m: m}
	for i, s := range m.spaces {
		k.stores[i] = crdt.NewChecker(s.Store, s.CheckKey)
	}
	return k
}

// Weight says how much a check of everything looks at: how many items, and about how many bytes of them.
func (k *Checker) Weight() (items, bytes int) {
	for _, s := range k.stores {
		i, b := s.Weight()
		items, bytes = items+i, bytes+b
	}
	return items, bytes
}

// Check returns the first broken invariant.
func (k *Checker) Check() error {
	m := k.m
	for i, s := range m.spaces {
		if err := s.check(k.stores[i]); err != nil {
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

func (s *space) check(store *crdt.Checker) error {
	if s.Moved || s.AcksMoved {
		return errors.New("the step was not finished")
	}
	for _, err := range []error{
		s.pusher.Check(), s.intake.Check(), s.holding.Check(), s.reads.Check(), s.compares.Check(),
		s.lookback.Check(), s.settlement.Check(), s.Replica.Check(),
	} {
		if err != nil {
			return err
		}
	}
	if err := store.Check(); err != nil {
		return err
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
