package membership

import "github.com/coterie-go/coterie/ddata/membership/view"

// settledUpTo takes the word of a member of the view, and puts on disk what it makes history.
func (m *Machine) settledUpTo(u UID, e Epoch) {
	if o, ok := m.view.Member(u); ok {
		m.settlement.Say(o, e)
		m.noteSettled()
	}
}

// noteSettled puts on disk that sets which the view lists are history.
func (m *Machine) noteSettled() {
	r, settled := m.store.Record(), m.settlement.Settled()
	if len(view.SetsSince(m.view.Unsettled, settled)) < len(view.SetsSince(m.view.Unsettled, r.Settled)) {
		r.Settled = settled
		m.persist(r)
	}
}
