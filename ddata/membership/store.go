package membership

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/record"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// persist makes r the record, and returns its number.
func (m *Machine) persist(r record.Record) (number uint64) {
	// it grants nothing any more, but a view that it installs may bind it (R3)
	if m.parting.Closed() != 0 && m.store.Record().Free {
		r.Free = m.granter.IsFree(m.now, m.view, m.reports)
	}
	return m.store.Put(r)
}

// onPersisted goes on with what waited for the disk. A node whose disk fails ends: after a failed
// write the disk may hold the old record, the new one, or neither.
func (m *Machine) onPersisted(in Persisted) {
	if !m.store.IsWriting() {
		m.stats.DroppedBad++
		return
	}
	if in.Err != nil {
		m.becomeDone(fmt.Errorf("%w: %w", ErrStore, in.Err))
		return
	}
	m.store.Written()
	m.wake = true
	if m.view == nil {
		m.seeker.LockStored(m.now)
		m.takeSeeker()
		return
	}
	m.tellViews()
	m.voter.Stored(m.scene())
	m.takeVoter()
}

// tellViews tells what is stored.
func (m *Machine) tellViews() {
	for _, v := range m.fx.tellStored(m.store.IsStored) {
		if v.Closing && m.self.TellClosing() {
			m.beatAt = m.now // a node that was asked waits for the grants that it gets
		}
	}
}

// settledUpTo takes the word of a member of the view, and puts on disk what it makes history.
func (m *Machine) settledUpTo(u view.UID, e view.Epoch) {
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
