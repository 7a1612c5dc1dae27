package membership

import (
	"errors"
	"fmt"
)

// Check verifies all invariants. Tests and the simulator call it after every step.
func (m *Machine) Check() error {
	if m.view == nil {
		return m.checkBootstrap()
	}
	errs := []error{m.view.Check(), m.checkStore(), m.checkChain(), m.reports.Check(m.view.View), m.voter.Check(m.view), m.granter.Check(m.view.View, m.now), m.checkLease(), m.arbiter.Check()}
	return errors.Join(errs...)
}

func (m *Machine) checkBootstrap() error {
	switch {
	case m.holder.Lease().Holds(m.now):
		return errors.New("a lease without a view")
	}
	return m.seeker.Check()
}

func (m *Machine) checkStore() error {
	s := &m.store
	switch {
	case m.done != nil: // nothing is written any more
	case s.writing != 0 && (s.writing <= s.stored || s.writing > s.issued), s.writing == 0 && s.stored != s.issued:
		return fmt.Errorf("record %d is being written, after %d of %d", s.writing, s.stored, s.issued)
	case len(s.views) > heldMax:
		return fmt.Errorf("%d views wait for the disk", len(s.views))
	case len(s.views) > 0 && (m.isStored(s.views[0].record) || s.views[len(s.views)-1].view != m.view.View):
		return errors.New("a stored view is held back, or one that is not installed")
	}
	return nil
}

func (m *Machine) checkChain() error {
	if !m.view.Has(m.cfg.UID) {
		return errors.New("this node is not in its view")
	}
	if m.view.Digest != m.view.Hash() {
		return errors.New("the installed view was modified")
	}
	if m.record.Last != m.view.View || m.record.Settled > m.view.Epoch {
		return errors.New("the installed view is not on disk")
	}
	for i, v := range m.view.Voters {
		if i > 0 && m.view.Voters[i-1].UpNumber >= v.UpNumber {
			return fmt.Errorf("voters are not in the order of age at %v", v)
		}
	}
	return errors.Join(m.joiners.Check(m.view.View), m.downs.Check(m.view.View))
}

func (m *Machine) checkLease() error {
	s := m.leaseScene()
	s.May = s.May && m.done == nil
	return m.holder.Check(s)
}
