package membership

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// onCommit takes a view that was decided.
func (m *member) onCommit(r Receive, v *view.View) {
	switch {
	case v.Cluster != m.view.Cluster:
		m.strays.foreign(r, v.Cluster)
	case !v.Has(r.From) && !m.view.Has(r.From): // a node that tells of a view is in it, or was here
		m.stats.DroppedOtherCluster++
	case v.Epoch < m.view.Epoch:
		m.stats.DroppedStale++
	case v.Epoch == m.view.Epoch:
		if v.Hash() != m.view.Digest {
			m.strays.fork(v.String())
		}
	case v.Epoch == m.view.Epoch+1 && v.Parent != m.view.Digest && !v.Founded || v.Format < m.view.Format:
		m.strays.fork(v.String())
	default:
		m.install(v)
	}
	m.ending.answerCommit(r, v)
}

// decide takes a view that a ballot of this node has decided; nil = none. Some nodes hear of it from
// this one alone.
func (m *member) decide(v *view.View) {
	if v == nil {
		return
	}
	m.ending.debts.Decide(m.uid, m.view, v, m.reach)
	m.fx.announce(m.uid, m.view, v)
	m.install(v)
}

// onDecided takes a view of which this node knows that it is decided, and tells all nodes that it
// concerns.
func (m *member) onDecided(v *view.View) {
	if v.Cluster == m.view.Cluster && v.Epoch == m.view.Epoch+1 && v.Parent != m.view.Digest && !v.Founded {
		m.strays.fork(v.String())
		return
	}
	if v.Cluster == m.view.Cluster && v.Epoch > m.view.Epoch {
		m.fx.announce(m.uid, m.view, v)
		m.install(v)
	}
}

// begin installs the first view. candidates are the nodes that this one has heard while it looked
// for a cluster: a founder has not founded with those that are not in the view.
func (m *member) begin(v *view.View, candidates []bootstrap.Probe) {
	if !m.follow(v) {
		return
	}
	m.leasing.holder.Begin(m.now)
	m.ending.parting.Accompany(m.now)
	for _, p := range candidates {
		p.Heard = 0 // which was of another cluster, or is old
		if v.Founded && !v.Has(p.Self.UID) {
			m.gate.onProbe(Receive{From: p.Self.UID, FromAddr: p.Self.Addr}, p,
				m.ballots.leads, m.ending.parting.Begun())
		}
	}
	m.tellWaiting()
}

// install makes a decided view the current one.
func (m *member) install(v *view.View) {
	if m.follow(v) {
		m.tellWaiting()
	}
}

// follow takes a decided view in place of the current one. It reports false if this node ends
// instead. The layers above hear of the view when it is stored.
func (m *member) follow(v *view.View) bool {
	me, listed := v.Member(m.uid)
	if was := m.me().UpNumber; !listed || was != 0 && me.UpNumber != was {
		// not listed, or dropped in between and taken for a joiner again because of a probe that
		// came late
		m.becomeAbsent(v)
		return false
	}
	if err := m.cfg.Formats.Speaks("the view that was decided", v.Format); err != nil {
		m.end(fmt.Errorf("membership: %w", err))
		return false
	}
	if m.fx.notices.isFull() {
		m.end(fmt.Errorf("%w: the disk has not answered while %d views were decided", ErrStore, heldMax))
		return false
	}
	m.ending.debts.Forget(m.now, m.cfg.UnreachableAfter)
	old := m.installed()
	m.stats.ViewsInstalled++
	m.leasing.holder.Install(m.now)
	m.cluster.install(m.now, v)
	m.ballots.install()
	m.crashes.install()
	m.gate.joiners.Follow(m.now, old, v)
	m.storing.install()
	for _, e := range changes(old, v) {
		switch e.(type) {
		case KeysMoving:
			m.moves.begin()
		case RetirementBegan:
			m.ages.begin()
		}
		m.fx.event(e)
	}
	m.tellViews()
	m.leasing.renew()
	m.wake = true
	if !m.cfg.Planted(defect.NoV6) || old == nil {
		m.pulse.soon() // V6
	}
	return true
}

// tellViews tells the views that are stored. A node that was asked to close the cluster waits for
// the grants that its heartbeats bring.
func (m *member) tellViews() {
	if m.storing.tellViews() {
		m.pulse.soon()
	}
}

// tellWaiting tells the joiners of a new view, if this node will propose the next one.
func (m *member) tellWaiting() {
	if m.ballots.leads() {
		m.gate.tellWaiting()
	}
}

// becomeAbsent ends a node that the others have decided to go on without.
func (m *member) becomeAbsent(v *view.View) {
	m.ending.parting.Exclude(v)
	switch {
	case !m.mayGo():
		m.end(&DownedError{Cause: fmt.Sprintf("view %v/%v was decided without it", v.Cluster, v.Epoch)})
	case m.ending.debts.Empty() || m.cfg.Planted(defect.GoesUntold):
		m.end(m.goneAs())
	default: // it ends when the nodes that it owes the word have it
		m.ending.parting.End(m.goneAs())
		m.leasing.holder.End()
		m.wake = true
	}
}
