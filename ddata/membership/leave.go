package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// onLeave: a node that is Joining says that it leaves, and stays like any other until it has stopped.
// It may have taken messages of its users that only a member which is Up can send on. And the view in
// which it is Up may be on its way: then it is given things to run, and has to hand them over.
func (m *member) onLeave() {
	if m.self.Leave() {
		m.ending.parting.Accompany(m.now)
	}
	m.pulse.tell()
}

func (m *member) onStopped() {
	m.self.Leave()
	m.self.Stop()
	m.ending.parting.Accompany(m.now)
	m.pulse.tell()
	if m.cfg.Planted(defect.GoesUnseen) {
		m.pulse.send(m.view.Members, m.heartbeat())
		m.end(m.goneAs())
	}
}

func (m *member) onSettled(e view.Epoch) {
	if !m.self.Settle(e) {
		return
	}
	if m.self.Has(report.Stopped) {
		m.pulse.tell() // its removal waits for it (V4); else the next heartbeat is soon enough
	}
	m.storing.settledUpTo(m.uid, e)
}

// onDown takes an operator's verdict; heartbeats spread it, and the proposer carries it out.
func (m *member) onDown(u view.UID) {
	if m.down(u) {
		m.pulse.tell()
	}
}

// down notes the verdict on a member, and reports whether it is news. A node that learns of its own
// gives up its lease at once, so that it may say that it has stopped, and its vote counts for its
// removal: an operator may down more than half of the voters, provided that enough of them still
// answer.
func (m *member) down(u view.UID) bool {
	if !m.cluster.down(u) {
		return false
	}
	m.wake = true
	if u == m.uid {
		m.ending.parting.Accompany(m.now)
		m.leasing.renew()
		m.pulse.tell()
	}
	return true
}

// close notes that the whole cluster must shut down; heartbeats spread it, and the proposer makes a
// view say so. It is irrevocable for this incarnation of the cluster. A view that founds anew says
// nothing of it, and a founder has heard nothing of it.
func (m *member) close() {
	if m.self.Close() && !m.view.Closing {
		m.pulse.tell()
	}
}

// advanceLeave ends a node that has stopped when no member is left that could decide its removal.
// The last members of a cluster go when they know that of each other.
func (m *member) advanceLeave() {
	if !m.mayGo() {
		return
	}
	if m.ending.parting.Closed() != 0 { // the disk says that it has ended, or will: nothing takes that back
		m.advanceParting()
		return
	}
	last := m.ending.allStopped()
	limit := m.ending.aloneSince().Add(m.cfg.SelfDownAfter)
	if !m.now.Before(limit) {
		m.pulse.send(m.view.Members, m.heartbeat()) // so that the others learn of it in time
		m.end(m.goneAs())
		return
	}
	m.dueAt(limit)
	if last {
		m.self.Stop() // whatever its status: it ends
		m.advanceParting()
	} else {
		m.ending.parting.Undo() // another node runs again
	}
}

// advanceParting ends this node when all nodes know what it knows. The last word goes to the
// members, also those with which this node exchanges no heartbeats, and to the nodes that wait to
// be let in.
func (m *member) advanceParting() {
	p := m.ending.parting
	if !m.ending.advance(m.heartbeat) {
		return
	}
	if p.Without() != nil {
		m.end(p.Err())
		return
	}
	if p.Closed() == 0 {
		m.gate.close()
		m.pulse.send(m.view.Members, m.heartbeat())
		m.storing.close()
	}
	if m.storing.IsStored(p.Closed()) {
		m.end(m.goneAs())
	}
}
