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
	if m.done != nil { // nothing is written any more
		return nil
	}
	return errors.Join(m.store.Check(), m.fx.notices.check(m.view.View, m.store.IsStored))
}

func (m *Machine) checkChain() error {
	if !m.view.Has(m.cfg.UID) {
		return errors.New("this node is not in its view")
	}
	if m.view.Digest != m.view.Hash() {
		return errors.New("the installed view was modified")
	}
	if r := m.store.Record(); r.Last != m.view.View || r.Settled > m.view.Epoch {
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
