package membership

import "github.com/coterie-go/coterie/ddata/membership/view"

// settlement is up to which epoch each role is settled, as far as this node has heard: of each
// role, the word of one of its members is enough, for that a view is settled stays true. It is
// counted when a view is installed, and goes on with what each of its members says.
type settlement struct {
	roles []string // of the view's voters, sorted
	most  []Epoch  // that a member with the role has said
}

// countSettled starts the settlement of a view that was just installed.
func (m *Machine) countSettled() {
	roles := m.view.RolesOfVoters()
	m.settlement = settlement{roles: roles, most: make([]Epoch, len(roles))}
	for _, o := range m.view.Members {
		m.settlement.said(o, m.reports.Settled(o.UID))
	}
}

// said takes the word of a member.
func (s *settlement) said(o Member, e Epoch) {
	for i, r := range s.roles {
		if e > s.most[i] && o.HasRole(r) {
			s.most[i] = e
		}
	}
}

// settled is the newest epoch that is settled in every role.
func (m *Machine) settled() Epoch {
	least := m.view.Epoch
	for _, e := range m.settlement.most {
		least = min(least, e)
	}
	return least
}

// settledUpTo takes the word of a member of the view, and puts on disk what it makes history.
func (m *Machine) settledUpTo(u UID, e Epoch) {
	if o, ok := m.view.Member(u); ok {
		m.settlement.said(o, e)
		m.noteSettled()
	}
}

// noteSettled puts on disk that sets which the view lists are history.
func (m *Machine) noteSettled() {
	r, settled := m.store.Record(), m.settled()
	if len(view.SetsSince(m.view.Unsettled, settled)) < len(view.SetsSince(m.view.Unsettled, r.Settled)) {
		r.Settled = settled
		m.persist(r)
	}
}
