package membership

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/report"
)

// This file makes a node that has stopped stay until the nodes that would wait for it know what it
// knows.
//
//	stopped ──all others have stopped──► parting ──all others know that, or cannot──► (ErrLeft)
//	   └──a view without it──────────────► parting ──all that this node owes it to know it──► (ErrLeft)

// parting is the last part of the life of a node that has stopped.
//
// Invariant: err is set only with view.
type parting struct {
	since  time.Time // when it began; zero = not yet
	tellAt time.Time // when the nodes that have not answered are told again
	view   *View     // a decided view without this node; nil = this node is still in the installed one
	err    error     // how this node then ends; nil = it is not parting by such a view
	last   uint64    // the record that says how it ended; 0 = none

	companyAt time.Time // when a node able to decide this stopped node's removal was last there; moved by countAwake
}

// unaware is a node that does not know yet of a view that this node has decided. At first only the
// node that decides a view knows that it was decided, so it owes the others the word.
type unaware struct {
	addr  string
	epoch Epoch     // of the decided view
	heard time.Time // when a message of it last came
}

// answersIn is for how many quarters of a heartbeat interval a node that parts waits for one that
// is silent. A node that runs is heard within each interval.
const answersIn = 6

// partingPause is the time between two tries to tell.
func (m *Machine) partingPause() time.Duration { return m.cfg.HeartbeatInterval / 8 }

// oweTo notes which nodes have to hear of a view that this node has just decided. Members that stay
// with this node show by their heartbeats what they know.
func (m *Machine) oweTo(v *View) {
	stays := v.Has(m.cfg.UID)
	for _, o := range m.view.Members {
		if o.UID == m.cfg.UID || stays && v.Has(o.UID) || !m.Reachable(o.UID) {
			continue
		}
		m.unaware[o.UID] = unaware{addr: o.Addr, epoch: v.Epoch, heard: m.reach.LastHeard(o.UID)}
	}
}

// heardUnaware notes that a node to which this one owes its word still speaks.
func (m *Machine) heardUnaware(u UID) {
	if x, owed := m.unaware[u]; owed {
		x.heard = m.now
		m.unaware[u] = x
	}
}

// forgetUnaware drops the nodes that have been silent for so long that they are gone.
func (m *Machine) forgetUnaware() {
	for u, x := range m.unaware { // order: each is looked at for itself
		if m.now.Sub(x.heard) > m.cfg.UnreachableAfter {
			delete(m.unaware, u)
		}
	}
}

// onLearned notes what another node knows.
func (m *Machine) onLearned(r Receive, l message.Learned) {
	if m.view == nil || l.Cluster != m.view.Cluster {
		m.stats.DroppedStale++
		return
	}
	if x, ok := m.unaware[r.From]; ok && x.epoch <= l.Epoch {
		delete(m.unaware, r.From)
		m.wake = true
	}
	if m.reports.Learn(r.From, l.Epoch, l.Stopped) {
		m.wake = true
	}
}

// answerCommit tells the sender of a decided view that this node knows it. It does so when no
// heartbeat will: one of the two is not in the view.
func (m *Machine) answerCommit(r Receive, v *View) {
	if m.view == nil || v.Cluster != m.view.Cluster || v.Has(m.cfg.UID) && v.Has(r.From) {
		return
	}
	known := m.view.Epoch
	if without := m.parting.view; without != nil {
		known = max(known, without.Epoch)
	}
	m.send(r.From, m.addrOf(r), message.Learned{Cluster: v.Cluster, Epoch: known})
}

// answerParting tells a node that parts that its word has come. Nothing is owed to it any more.
func (m *Machine) answerParting(r Receive, hb message.Heartbeat) {
	if hb.Flags&report.Parting != 0 && m.view != nil && hb.Cluster == m.view.Cluster {
		if _, owed := m.unaware[r.From]; owed {
			delete(m.unaware, r.From)
			m.wake = true
		}
		m.send(r.From, m.addrOf(r), message.Learned{Cluster: hb.Cluster, Epoch: m.view.Epoch, Stopped: true})
	}
}

// part ends a node that has stopped and is in no view any more: at once, or when the nodes that it
// owes the word have it.
func (m *Machine) part(err error) {
	if len(m.unaware) == 0 || m.cfg.Defects.GoesUntold {
		m.becomeDone(err)
		return
	}
	m.parting.err = err
	m.holder.End()
	m.wake = true
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
	m.heardUnaware(r.From)
	switch msg := r.Msg.(type) {
	case message.Learned:
		m.onLearned(r, msg)
	case message.Fetch:
		m.send(r.From, m.addrOf(r), message.Commit{View: m.parting.view})
	case message.Heartbeat:
		m.answerParting(r, msg)
	case message.Commit:
		m.answerCommit(r, msg.View)
	}
}

// advanceParting tells what this node knows to the nodes that have not said that they know it. It
// ends this node when there are none.
func (m *Machine) advanceParting() {
	g := &m.parting
	if g.since.IsZero() {
		g.since, g.tellAt = m.now, m.now
	}
	v := m.view.View
	if g.view != nil {
		v = g.view
	}
	tell := !m.now.Before(g.tellAt)
	if tell {
		g.tellAt = m.now.Add(m.partingPause())
	}
	waits := false
	for _, u := range sortedKeys(m.unaware) {
		if x := m.unaware[u]; m.waitsFor(x.heard) {
			waits = true
			if tell {
				m.send(u, x.addr, message.Commit{View: v})
			}
		}
	}
	if g.view == nil && g.last == 0 && m.tellStopped(tell) {
		waits = true
	}
	if waits {
		m.dueAt(g.tellAt)
		return
	}
	if g.view != nil {
		m.becomeDone(g.err)
		return
	}
	if g.last == 0 {
		m.sendJoinersAway()
		m.farewell() // also to nodes with which it exchanges no heartbeats
		g.last = m.noteFree()
	}
	if m.store.IsStored(g.last) {
		m.becomeGone()
	}
}

// noteFree notes in the record that every node has stopped that this one granted a lease, if that
// is so. It returns the number of the record that has to be stored before the end.
func (m *Machine) noteFree() (number uint64) {
	if !m.isFree() {
		return m.store.Stored()
	}
	r := m.store.Record()
	r.Free = true
	return m.persist(r)
}

// isFree reports whether no node runs under a lease that a promise of this node covers.
func (m *Machine) isFree() bool {
	for _, o := range m.view.Others(m.cfg.UID) {
		if u := o.UID; !m.reports.Stopped(u) && m.view.MayHoldLease(u) && m.now.Before(m.granter.Until(u)) || m.cfg.Defects.GoesUntold {
			return false
		}
	}
	return true
}

// waitsFor reports whether a node that has not answered, and was last heard then, may still do so.
func (m *Machine) waitsFor(heard time.Time) bool {
	if m.cfg.Defects.GoesUntold {
		return false
	}
	g := &m.parting
	limit := laterOf(heard, g.since).Add(answersIn * m.cfg.HeartbeatInterval / 4)
	most := g.since.Add(m.cfg.UnreachableAfter)
	if !m.now.Before(limit) || !m.now.Before(most) {
		return false
	}
	m.dueAt(limit)
	m.dueAt(most)
	return true
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tellStopped tells the members, which have all stopped, that this node has, and of its view. It
// reports whether one of them has not answered. A member that parts itself waits for nothing.
func (m *Machine) tellStopped(tell bool) (waits bool) {
	for _, o := range m.view.Members {
		if o.UID == m.cfg.UID || !m.reach.Watches(o.UID) || !m.reach.Hears(o.UID) || m.reports.Flags(o.UID)&report.Parting != 0 || !m.waitsFor(m.reach.LastHeard(o.UID)) {
			continue
		}
		known, knowsStopped := m.reports.Knows(o.UID)
		knowsView := known >= m.view.Epoch
		if knowsView && knowsStopped {
			continue
		}
		waits = true
		if !tell {
			continue
		}
		if !knowsView {
			m.send(o.UID, o.Addr, message.Commit{View: m.view.View})
		}
		m.send(o.UID, o.Addr, m.heartbeat())
	}
	return waits
}

// sendJoinersAway tells the nodes that wait to be let in that this cluster ends. They start again,
// and found one.
func (m *Machine) sendJoinersAway() {
	for _, j := range m.joiners.Remembered() {
		m.send(j.Member.UID, j.Member.Addr, Refuse{To: j.Member.UID, Cluster: m.view.Cluster, Reason: ReasonGone,
			Text: "the cluster has been stopped"})
	}
}
