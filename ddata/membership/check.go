package membership

import "errors"

// Check verifies all invariants. Tests and the simulator call it after every step.
func (m *Machine) Check() error {
	if m.view == nil {
		if m.holder.Lease().Holds(m.now) {
			return errors.New("a lease without a view")
		}
		return m.seeker.Check()
	}
	v, lease := m.view.View, m.leaseScene()
	lease.May = lease.May && m.done == nil
	errs := []error{
		m.view.Check(m.cfg.UID), m.joiners.Check(v), m.downs.Check(v), m.reports.Check(v),
		m.voter.Check(m.view), m.granter.Check(v, m.now), m.holder.Check(lease), m.arbiter.Check(),
	}
	if r := m.store.Record(); r.Last != v || r.Settled > v.Epoch {
		errs = append(errs, errors.New("the installed view is not on disk"))
	}
	if m.done == nil { // else nothing is written any more
		errs = append(errs, m.store.Check(), m.fx.notices.check(v, m.store.IsStored))
	}
	return errors.Join(errs...)
}
