package membership

import (
	"fmt"
	"slices"
)

// store tells how much of what this node has to remember is on its disk. Records are numbered; each
// replaces the one before.
//
//	persist ──► Effects.Persist ──► Persisted ──► what waited for this record, or an older one, goes on
//
// Nothing else waits for the disk: heartbeats, grants and the machine's own view go on while a
// record is written. So a slow disk costs no lease.
//
// What waits is bounded. All views that were decided meanwhile are kept for the replicators: a
// chain that lacks one may not settle. A disk that has not answered while heldMax views were
// decided counts as one that has failed: the node ends, as by a crash, and the others go on. Of a
// member only the last change of its reachability waits behind each view.
//
// Invariant: stored ≤ writing ≤ issued while a record is written, and writing is 0 otherwise. views
// has at most heldMax elements.
type store struct {
	issued  uint64     // the number of Machine.record
	writing uint64     // the one that the driver has; 0 = none
	stored  uint64     // the newest on disk
	views   []heldView // installed, and to be told when they are stored; oldest first
}

// heldView is a view that the layers above hear of when it is stored, with what happened to members
// since.
type heldView struct {
	record uint64
	view   *View
	events []Event
}

// persist makes r the record, and returns its number. The disk gets it at the end of the step, or
// when the write before is done. A node without a disk remembers nothing, and waits for nothing.
func (m *Machine) persist(r record) (number uint64) {
	r.Name = m.cfg.Name
	if m.parting.last != 0 && m.record.Free { // it grants nothing any more, but a view that it installs may bind it (R3)
		r.Free = m.isFree()
	}
	m.record = r
	m.store.issued++
	if m.cfg.Disk == 0 {
		m.store.stored = m.store.issued
	}
	return m.store.issued
}

// isStored reports whether a record, or one that replaced it, is on disk.
func (m *Machine) isStored(number uint64) bool {
	return number <= m.store.stored || m.cfg.Defects.ToldUnstored
}

// writeRecord hands the newest record to the driver, which has at most one at a time.
func (m *Machine) writeRecord() {
	s := &m.store
	if s.writing == 0 && s.stored < s.issued {
		s.writing = s.issued
		m.fx.Persist = m.record.encode()
	}
}

// onPersisted goes on with what waited for the disk. A node whose disk fails ends: after a failed
// write the disk may hold the old record, the new one, or neither.
func (m *Machine) onPersisted(in Persisted) {
	s := &m.store
	if s.writing == 0 {
		m.stats.DroppedBad++
		return
	}
	if in.Err != nil {
		m.becomeDone(fmt.Errorf("%w: %w", ErrStore, in.Err))
		return
	}
	s.stored, s.writing = s.writing, 0
	m.wake = true
	if m.view == nil {
		m.seeker.LockStored(m.now)
		m.takeOutput()
		return
	}
	m.tellViews()
	m.voter.Stored(m.scene())
	m.takeVoter()
}

// isFull reports whether there is no room for one more view that waits for the disk.
func (s *store) isFull() bool { return len(s.views) >= heldMax }

// holdView has the layers above hear of an installed view when its record is stored.
func (m *Machine) holdView(v *View, number uint64) {
	m.store.views = append(m.store.views, heldView{record: number, view: v})
}

// tellViews tells what is stored.
func (m *Machine) tellViews() {
	s := &m.store
	for len(s.views) > 0 && m.isStored(s.views[0].record) {
		if m.fx.Install = append(m.fx.Install, s.views[0].view); s.views[0].view.Closing && m.self.TellClosing() {
			m.beatAt = m.now // a node that was asked waits for the grants that it gets
		}
		m.fx.Events = append(m.fx.Events, s.views[0].events...)
		s.views = s.views[1:]
	}
}

// event tells something. What concerns a member stays behind the view that lists it.
func (m *Machine) event(e Event) {
	n := len(m.store.views)
	switch e := e.(type) {
	case MemberJoined, MemberUp, MemberLeaving, MemberRemoved:
		if n > 0 {
			m.store.views[n-1].events = append(m.store.views[n-1].events, e)
			return
		}
	case MemberUnreachable:
		if n > 0 {
			m.store.views[n-1].reach(e.Member.UID, e)
			return
		}
	case MemberReachable:
		if n > 0 {
			m.store.views[n-1].reach(e.Member.UID, e)
			return
		}
	}
	m.fx.Events = append(m.fx.Events, e)
}

// reach notes the reachability of a member in place of what was noted of it before, because that
// was not told yet.
func (h *heldView) reach(u UID, e Event) {
	h.events = slices.DeleteFunc(h.events, func(x Event) bool {
		switch x := x.(type) {
		case MemberUnreachable:
			return x.Member.UID == u
		case MemberReachable:
			return x.Member.UID == u
		}
		return false
	})
	h.events = append(h.events, e)
}
