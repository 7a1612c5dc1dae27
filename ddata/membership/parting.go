package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/parting"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// onLearned notes what another node knows.
func (m *Machine) onLearned(r Receive, l message.Learned) {
	if m.view == nil || l.Cluster != m.view.Cluster {
		m.stats.DroppedStale++
		return
	}
	if m.debts.Learn(r.From, l.Epoch) {
		m.wake = true
	}
	if m.reports.Learn(r.From, l.Epoch, l.Stopped) {
		m.wake = true
	}
}

// answerCommit tells the sender of a decided view that this node knows it. It does so when no
// heartbeat will: one of the two is not in the view.
func (m *Machine) answerCommit(r Receive, v *view.View) {
	if m.view == nil || v.Cluster != m.view.Cluster || v.Has(m.cfg.UID) && v.Has(r.From) {
		return
	}
	known := m.view.Epoch
	if without := m.parting.Without(); without != nil {
		known = max(known, without.Epoch)
	}
	m.fx.send(r.From, addrOf(m.view, r), message.Learned{Cluster: v.Cluster, Epoch: known})
}

// answerParting tells a node that parts that its word has come. Nothing is owed to it any more.
func (m *Machine) answerParting(r Receive, hb message.Heartbeat) {
	if hb.Flags&report.Parting != 0 && m.view != nil && hb.Cluster == m.view.Cluster {
		if m.debts.Drop(r.From) {
			m.wake = true
		}
		m.fx.send(r.From, addrOf(m.view, r), message.Learned{Cluster: hb.Cluster, Epoch: m.view.Epoch, Stopped: true})
	}
}

// takeParting takes an input when this node is in no view any more.
func (m *Machine) takeParting(in Input) {
	if stored, ok := in.(Persisted); ok {
		m.onPersisted(stored)
		return
	}
	r, ok := in.(Receive)
	if !ok {
		return
	}
	m.debts.Hear(r.From, m.now)
	switch msg := r.Msg.(type) {
	case message.Learned:
		m.onLearned(r, msg)
	case message.Fetch:
		m.fx.send(r.From, addrOf(m.view, r), message.Commit{View: m.parting.Without()})
	case message.Heartbeat:
		m.answerParting(r, msg)
	case message.Commit:
		m.answerCommit(r, msg.View)
	}
}

// advanceParting tells what this node knows to the nodes that have not said that they know it. It
// ends this node when there are none.
func (m *Machine) advanceParting() {
	p := m.parting
	round := p.Advance(parting.Scene{Now: m.now, View: m.view, Debts: &m.debts, Reports: m.reports, Reach: m.reach})
	for _, w := range round.Words {
		if w.View != nil {
			m.fx.send(w.To, w.Addr, message.Commit{View: w.View})
		}
		if w.Beat {
			m.fx.send(w.To, w.Addr, m.heartbeat())
		}
	}
	if !round.Due.IsZero() {
		m.dueAt(round.Due)
	}
	switch {
	case round.Waits:
		return
	case p.Without() != nil:
		m.becomeDone(p.Err())
		return
	case p.Closed() == 0:
		m.sayFarewell()
	}
	if m.store.IsStored(p.Closed()) {
		m.becomeDone(m.goneAs())
	}
}

// sayFarewell tells the members, also those with which this node exchanges no heartbeats, and the
// nodes that wait to be let in. The latter start again, and found a cluster. It also notes in the
// record that every node has stopped that this one granted a lease, if that is so.
func (m *Machine) sayFarewell() {
	for _, j := range m.joiners.Remembered() {
		m.fx.send(j.Member.UID, j.Member.Addr,
			bootstrap.Refuse{To: j.Member.UID, Cluster: m.view.Cluster, Reason: bootstrap.ReasonGone,
				Text: "the cluster has been stopped"})
	}
	m.sendHeartbeat(m.view.Members)
	last := m.store.Stored()
	if m.granter.IsFree(m.now, m.view, m.reports) {
		r := m.store.Record()
		r.Free = true
		last = m.persist(r)
	}
	m.parting.Close(last)
}
