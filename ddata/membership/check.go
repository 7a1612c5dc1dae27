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
	errs := []error{m.view.Check(), m.checkStore(), m.checkChain(), m.reports.Check(m.view.View), m.checkVotes(), m.checkLease(), m.arbiter.Check()}
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

func (m *Machine) checkVotes() error {
	a, p := &m.acceptor, m.proposer
	accepted, at := a.Accepted()
	if accepted != nil && (accepted.View.Epoch != m.view.Epoch+1 || accepted.View.Parent != m.view.Digest || a.Promised().Less(at)) {
		return fmt.Errorf("accepted %v is no child of the view", accepted)
	}
	if accepted != nil && !m.notesAccepted() {
		return errors.New("the accepted view is not on disk, nor one of a later ballot")
	}
	if p.Idle() {
		return nil
	}
	if b := p.Ballot(); b.UID != m.cfg.UID || b.Round > p.Round() {
		return fmt.Errorf("foreign ballot %v", b)
	}
	if p.Accepting() && (p.Value() == nil || p.Value().View.Parent != m.view.Digest) {
		return errors.New("a value in no chain is being decided")
	}
	return nil
}

// notesAccepted reports whether the disk has the view that was accepted, or one of a later ballot
// that took its place (storesPending).
func (m *Machine) notesAccepted() bool {
	a, p := &m.acceptor, m.record.Pending
	if a.Holds() {
		return p != nil
	}
	accepted, at := a.Accepted()
	return p != nil && m.isStored(a.Record()) && (p.Hash() == accepted.View.Hash() || at.Less(a.Noted()))
}

func (m *Machine) checkLease() error {
	s := m.leaseScene()
	s.May = s.May && m.done == nil
	return errors.Join(m.holder.Check(s), m.promises.Check(m.view.View, m.now.Add(m.cfg.promise())))
}
