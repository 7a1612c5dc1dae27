package membership

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// onLeave: a node without a view has nothing to hand off. One that is Joining has neither, and is
// dropped as it is. It does not say that it stopped, because the view in which it is Up may be on
// its way: then it is a member like any other, is given things to run, and has to hand them over.
func (m *Machine) onLeave() {
	if m.view == nil {
		m.becomeDone(ErrLeft)
		return
	}
	if m.self.Leave() {
		m.parting.Accompany(m.now)
	}
	m.tell()
}

// mayGo reports whether this node runs nothing under a lease, now or later, as far as its own view
// goes: it may be dropped, and end.
func (m *Machine) mayGo() bool {
	return m.self.Has(report.Stopped) || m.self.Has(report.Leaving) && m.Self().Status == view.Joining
}

func (m *Machine) onStopped() {
	if m.view == nil {
		m.becomeDone(ErrLeft)
		return
	}
	m.self.Leave()
	m.self.Stop()
	m.parting.Accompany(m.now)
	m.tell()
	if m.cfg.Defects.GoesUnseen {
		m.sendHeartbeat(m.view.Members)
		m.becomeDone(m.goneAs())
	}
}

func (m *Machine) onSettled(e view.Epoch) {
	if m.self.Settle(e) {
		if m.self.Has(report.Stopped) {
			m.tell() // its removal waits for it (V4); else the next heartbeat is soon enough
		}
		if m.view != nil {
			m.settledUpTo(m.cfg.UID, e)
		}
	}
}

// onDown takes an operator's verdict; heartbeats spread it, and the proposer carries it out.
func (m *Machine) onDown(u view.UID) {
	if m.view == nil {
		return
	}
	if m.down(u) {
		m.tell()
	}
}

// down notes the verdict on a member; from now on it is granted nothing. A node that learns of its
// own gives up its lease at once, so that it may say that it has stopped, and its vote counts for
// its removal: an operator may down more than half of the voters, provided that enough of them
// still answer.
func (m *Machine) down(u view.UID) bool {
	if m.downs.On(u) || !m.view.Has(u) {
		return false
	}
	m.downs.Say(u)
	m.wake = true
	if u == m.cfg.UID {
		m.self.Stop()
		m.parting.Accompany(m.now)
		m.renewLease()
		m.tell()
	}
	return true
}

// AllClose reports whether a view that is Closing has been told to the layers of this node, and of
// all members that it reaches. The machine finds out after a CloseCluster.
func (m *Machine) AllClose() bool {
	return m.self.ToldClosing() && !slices.ContainsFunc(m.view.Others(m.cfg.UID), m.asksIfCloses)
}

// asksIfCloses reports whether this node was asked to close the cluster and does not know whether
// the member has heard of it. Its grants tell.
func (m *Machine) asksIfCloses(o view.Member) bool {
	return m.self.AskedToClose() && m.view.Closing && m.Reachable(o.UID) && !m.reports.Closes(o.UID)
}

// close notes that the whole cluster must shut down; heartbeats spread it, and the proposer makes a
// view say so. It is irrevocable for this incarnation of the cluster. A view that founds anew says
// nothing of it, and a founder has heard nothing of it.
func (m *Machine) close() {
	if m.view == nil || !m.self.Close() {
		return
	}
	if !m.view.Closing {
		m.tell()
	}
}

// goneAs is how a node that has stopped ends.
func (m *Machine) goneAs() error {
	if m.downs.On(m.cfg.UID) {
		return &DownedError{Cause: "an operator has downed it", ByOperator: true}
	}
	return ErrLeft
}

// advanceLeave ends a node that has stopped when no member is left that could decide its removal.
// The last members of a cluster go when they know that of each other.
func (m *Machine) advanceLeave() {
	if !m.mayGo() {
		return
	}
	if m.parting.Closed() != 0 { // the disk says that it has ended, or will: nothing takes that back
		m.advanceParting()
		return
	}
	allStopped := true
	for _, o := range m.view.Members {
		if o.UID == m.cfg.UID || m.reports.Stopped(o.UID) || !m.reach.Watches(o.UID) {
			continue
		}
		if !o.Full() && !m.Reachable(o.UID) {
			continue // it was let in and is gone: nothing can be handed over to it
		}
		allStopped = false
		if m.Reachable(o.UID) {
			m.parting.Accompany(m.now)
		}
	}
	limit := m.parting.Company().Add(m.cfg.SelfDownAfter)
	if !m.now.Before(limit) {
		m.sendHeartbeat(m.view.Members) // so that the others learn of it in time
		m.becomeDone(m.goneAs())
		return
	}
	m.dueAt(limit)
	if allStopped {
		m.self.Stop() // whatever its status: it ends
		m.advanceParting()
	} else {
		m.parting.Undo() // another node runs again
	}
}
