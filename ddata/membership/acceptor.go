package membership

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
)

func (m *Machine) onPrepare(r Receive, p message.Prepare) {
	if !m.fromVoter(r, p.Cluster, p.Epoch) {
		return
	}
	m.sendMember(r.From, m.prepare(p))
}

// fromVoter reports whether a message for the current epoch came from one of its voters.
func (m *Machine) fromVoter(r Receive, cluster ClusterID, epoch Epoch) bool {
	if !m.sameEpoch(r, cluster, epoch) {
		m.tellView(r, cluster, epoch)
		return false
	}
	if !m.view.IsVoter(r.From) || !m.view.IsVoter(m.cfg.UID) {
		m.stats.DroppedBad++
		return false
	}
	return true
}

// prepare answers a ballot's first phase. It already holds back the members that will be dropped
// (V2). So the promises to them have run out when the second phase comes, and no node freezes for
// nothing.
func (m *Machine) prepare(p message.Prepare) message.Message {
	a := &m.acceptor
	if a.Outbids(p.Ballot) {
		m.stats.RejectsBallot++
		return message.Rejected{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Promised: a.Promised()}
	}
	a.Promise(p.Ballot)
	wait := m.promiseTo(p.Drops)
	if wait > 0 {
		m.holdBack(p.Drops)
	}
	accepted, at := a.Accepted()
	answer := arbitration.Promise{
		Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Answer: paxos.Prepared{AcceptedBallot: at, Accepted: accepted, Wait: wait},
	}
	m.arbiter.Promise(m.now, m.view, answer)
	m.takeArbiter()
	return prepared(answer)
}

// promiseTo is how long promises to any of the members still run.
func (m *Machine) promiseTo(drops []UID) (wait time.Duration) {
	if m.cfg.Defects.NoPromise {
		return 0
	}
	for _, u := range drops {
		if m.reports.Has(u) && m.view.MayHoldLease(u) {
			wait = max(wait, m.promises.Until(u).Sub(m.now), m.arbiter.Wait(m.now, m.view))
		}
	}
	return wait
}

// holdBack is V2. Without it an acceptor that still hears the member keeps granting, and its
// promise never runs out. The others, which have accepted, would never leave their freeze.
func (m *Machine) holdBack(drops []UID) {
	for _, u := range drops {
		if m.reports.Has(u) && m.view.MayHoldLease(u) {
			m.promises.HoldBack(u, m.now.Add(2*m.cfg.LeaseDuration))
		}
	}
}

func (m *Machine) onAccept(r Receive, a message.Accept) {
	if !m.fromVoter(r, a.Cluster, a.Epoch) {
		return
	}
	v := a.Proposal.View
	if v.Epoch != m.view.Epoch+1 || v.Cluster != m.view.Cluster || v.Parent != m.view.Digest {
		m.stats.DroppedBad++
		return
	}
	m.takeAccept(r.From, a)
}

// takeAccept answers a ballot's second phase, to this node's own proposer too; when there is
// something to say.
func (m *Machine) takeAccept(from UID, a message.Accept) {
	answer := m.accept(from, a)
	own := m.proposer.Accepting() && m.proposer.Ballot() == a.Ballot
	switch {
	case answer == nil:
	case from != m.cfg.UID:
		m.sendMember(from, answer)
	case own:
		switch answer := answer.(type) {
		case message.Accepted:
			m.takeAccepted(from)
		case message.Rejected:
			m.takeRejected(answer)
		}
	}
}

// accept answers a ballot's second phase; nil when there is nothing to say yet. A proposal that is
// not on disk is stored first, and accepted after that, if nothing stands against it then: the
// freeze of R2 lasts no longer because a disk is slow.
func (m *Machine) accept(from UID, p message.Accept) message.Message {
	a := &m.acceptor
	if a.Outbids(p.Ballot) {
		m.stats.RejectsBallot++
		return message.Rejected{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Promised: a.Promised()}
	}
	if !p.Proposal.View.Has(m.cfg.UID) && !m.mayGo() {
		m.stats.RejectsPromise++ // R4: never for itself
		return nil
	}
	drops := p.Proposal.Unconsented(m.view.View)
	if wait := m.promiseTo(drops); wait > 0 {
		m.stats.RejectsPromise++
		m.holdBack(drops)
		return message.Rejected{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Promised: a.Promised(), Wait: int64(wait)}
	}
	a.Promise(p.Ballot)
	if !m.storesPending(p) {
		m.holdBack(drops) // a grant in the meantime would stand against it
		a.Hold(paxos.Held{From: from, Ballot: p.Ballot, Proposal: p.Proposal})
		return nil
	}
	m.stats.Accepts++
	a.Accept(m.now, p.Ballot, p.Proposal)
	m.wake = true
	m.arbiter.Accept(m.now, m.view, p.Epoch, p.Ballot, p.Proposal.View)
	m.takeArbiter()
	return message.Accepted{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot}
}

// storesPending reports whether it is on disk that a view may be decided, and sees to it that it
// will be. It may take the place of another view that was accepted here at a lower ballot, even if
// it is not accepted in the end. Nothing is lost by that. Its proposer has the promises of a
// quorum, and none of these had accepted the other view at a higher ballot than that of its own
// value. So the other view was not decided, and its ballot cannot be completed any more.
func (m *Machine) storesPending(p message.Accept) bool {
	v, number := p.Proposal.View, m.acceptor.Record()
	if was := m.record.Pending; was == nil || was.Hash() != v.Hash() {
		number = m.persist(record{Last: m.view.View, Pending: v, Settled: m.record.Settled})
	}
	m.acceptor.Note(p.Ballot, number)
	return m.isStored(number)
}

// acceptStored goes on with the proposal that was stored.
func (m *Machine) acceptStored() {
	if !m.isStored(m.acceptor.Record()) {
		return
	}
	if h, ok := m.acceptor.Release(); ok {
		m.takeAccept(h.From, message.Accept{Cluster: m.view.Cluster, Epoch: m.view.Epoch, Ballot: h.Ballot, Proposal: h.Proposal})
	}
}
