package membership

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/report"
)

// arbiter is this node's part in carrying the vote of the arbiter of LeaseMajority. The arbiter is
// an acceptor of its own. Its state lies under its lease, and the node that holds the lease, its
// carrier, speaks for it. The carrier votes as itself at once, and for the arbiter when that is
// saved.
//
//	away ──Acquire──► asking ──ArbiterAcquired──► held ──release, ArbiterLost──► away
//	  ▲                 │ ArbiterDenied             │ Save ─ ─ ArbiterSaved: speak
//	  └─────────────────┘                           ▼
//
// The arbiter accepts only what its carrier accepts in the same step, and both together are a
// quorum: what it has accepted is decided.
//
// Invariants: one Acquire or Save is out at a time (busy). record is what the store holds, or will
// hold when the saves that are due are done.
type arbiter struct {
	held      bool
	since     time.Time // when it was acquired
	until     time.Time // the end of holding it, unless it is prolonged
	busy      bool      // an Acquire or a Save has not been answered
	again     bool      // record has changed since the Save that is out
	record    arbiterRecord
	out       arbiterRecord // of the Save that was sent last
	accepting bool          // record.View is decided as soon as it is saved
	answer    *Prepared     // said when the record is saved, to the proposer of its ballot

	wantedAt time.Time // since when no holder is known; zero = one is
	minority bool      // at the last look
	tryAt    time.Time // no Acquire before
	yieldAt  time.Time // no release in favour of a larger side before
	behind   Epoch     // the arbiter has taken part in this one: no Acquire before it is known here
	failing  string    // what failed at last, so that it is told once
}

// strategy of the arbiter, if there is one.
func (m *Machine) arbitrated() (downing.LeaseMajority, bool) {
	s, ok := m.cfg.Strategy.(downing.LeaseMajority)
	return s, ok
}

// speaks reports whether this node may speak for the arbiter now.
func (m *Machine) speaks() bool {
	return m.arbiter.held && m.now.Before(m.arbiter.until) && m.counts(m.cfg.UID)
}

// counts reports whether a member is one of the voters whose vote makes a quorum with the
// arbiter's.
func (m *Machine) counts(u UID) bool {
	s, ok := m.arbitrated()
	return ok && slices.ContainsFunc(s.Counting(m.view.Voters), func(v Member) bool { return v.UID == u })
}

// hearsArbiter reports whether a node that speaks for the arbiter is reachable.
func (m *Machine) hearsArbiter() bool { return m.speaks() || m.hearsCarrier() }

func (m *Machine) hearsCarrier() bool {
	return m.view != nil && slices.ContainsFunc(m.view.Members, func(o Member) bool {
		return o.UID != m.cfg.UID && m.reports.Flags(o.UID)&report.Arbiter != 0 && m.reach.Hears(o.UID) && m.counts(o.UID)
	})
}

// arbiterWait is how long a new holder accepts no view that drops a member that may hold a lease.
// What its predecessors granted in the arbiter's name was granted before it acquired.
func (m *Machine) arbiterWait() time.Duration {
	if !m.speaks() || m.cfg.Defects.NoArbiterWait {
		return 0
	}
	return m.arbiter.since.Add(m.cfg.promise()).Sub(m.now)
}

// arbiterPromises lets the arbiter answer a ballot's first phase as this node just did. Once it may
// have accepted something, it waits until that is certain.
func (m *Machine) arbiterPromises(p Prepared) {
	a := &m.arbiter
	if !m.speaks() || a.accepting {
		return
	}
	p.Arbiter = true
	a.answer = &p
	a.record.Cluster, a.record.Epoch, a.record.Promised = p.Cluster, p.Epoch, p.Ballot
	m.saveArbiter()
}

// arbiterAccepts lets the arbiter accept what this node just accepted.
func (m *Machine) arbiterAccepts(p Accept) {
	a := &m.arbiter
	if !m.speaks() || a.accepting {
		return
	}
	a.answer, a.accepting = nil, true
	a.record = arbiterRecord{Cluster: p.Cluster, Epoch: p.Epoch, Promised: p.Ballot, View: p.Proposal.View}
	m.saveArbiter()
}

func (m *Machine) saveArbiter() {
	a := &m.arbiter
	if a.busy {
		a.again = true
		return
	}
	a.busy, a.again, a.out = true, false, a.record
	m.fx.Arbiter = append(m.fx.Arbiter, ArbiterOp{Do: ArbiterSave, Record: a.record.encode()})
}

// forgetUnsaved takes back what the arbiter would have said once a Save that was not sent yet had
// been made.
func (a *arbiter) forgetUnsaved() {
	a.answer = nil
	if a.again {
		a.again, a.accepting, a.record = false, false, a.out
	}
}

func (m *Machine) onArbiterSaved(in ArbiterSaved) {
	a := &m.arbiter
	a.busy = false
	switch {
	case in.Err != "":
		m.becomeUnarbitrated()
		m.arbiterFails("save: " + in.Err)
	case a.again && a.held:
		m.saveArbiter()
	default:
		m.arbiterSpeaks()
	}
}

// arbiterSpeaks says what the arbiter has done, now that it is certain. What it promised is said
// only while this node holds it, for what a successor promises is not known here; what it accepted
// stays decided.
func (m *Machine) arbiterSpeaks() {
	a := &m.arbiter
	answer, accepting := a.answer, a.accepting
	a.answer, a.accepting = nil, false
	_, at := m.acceptor.Accepted()
	switch {
	case m.view == nil:
	case accepting:
		m.onDecided(a.record.View)
	case answer == nil || !m.speaks() || answer.Epoch != m.view.Epoch || m.acceptor.Promised() != answer.Ballot || at == answer.Ballot:
	case answer.Ballot.UID == m.cfg.UID:
		if m.proposer.Preparing() && m.proposer.Ballot() == answer.Ballot {
			m.takePrepared(m.cfg.UID, *answer)
		}
	default:
		m.sendMember(answer.Ballot.UID, *answer)
	}
}

// onDecided takes a view of which this node knows that it is decided, and tells all nodes that it
// concerns.
func (m *Machine) onDecided(v *View) {
	if v.Cluster == m.view.Cluster && v.Epoch == m.view.Epoch+1 && v.Parent != m.view.Digest && !v.Founded {
		m.fork(v.String())
		return
	}
	if v.Cluster == m.view.Cluster && v.Epoch > m.view.Epoch {
		m.announce(v)
		m.install(v)
	}
}
