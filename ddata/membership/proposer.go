package membership

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nextview"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/report"
)

// advanceProposer starts, drives and gives up ballots.
func (m *Machine) advanceProposer() {
	p := m.proposer
	if p.TimesOut(m.now) {
		m.stats.BallotsTimedOut++
	}
	switch {
	case p.Idle():
		m.maybePropose()
	case p.Preparing():
		m.maybeAccept()
	case p.Accepting():
		m.maybeResend()
	}
	if m.done == nil && !p.Idle() {
		m.dueAt(p.Until())
	}
}

// maybePropose starts a ballot when it is this node's turn and there is something to decide.
func (m *Machine) maybePropose() {
	if !m.view.IsVoter(m.cfg.UID) || !m.hearsQuorum() || !m.parting.since.IsZero() {
		return
	}
	if at := m.proposer.RetryAt(); m.now.Before(at) {
		m.dueAt(at)
		return
	}
	finish := m.mustFinish()
	var drops []UID
	if m.leads() {
		p := m.plan()
		if p.Changed {
			drops = p.WaitFor
		} else if !finish {
			return
		}
	} else if !finish {
		return
	}
	m.startBallot(drops)
}

// leads reports whether it is the turn of this node to propose: it is the oldest reachable voter that
// has neither said that it stopped nor been downed (V3). If all voters have stopped but learners
// have not, the oldest reachable voter still hands over to them.
func (m *Machine) leads() bool {
	for _, v := range m.view.Voters {
		if m.Reachable(v.UID) && (!m.reports.Stopped(v.UID) || m.cfg.Defects.StoppedProposes) && !m.downs.On(v.UID) {
			return v.UID == m.cfg.UID
		}
	}
	for _, v := range m.view.Voters {
		if m.Reachable(v.UID) {
			return v.UID == m.cfg.UID
		}
	}
	return false
}

// hearsQuorum reports whether this node hears a quorum. Without one it cannot decide anything, and
// its ballots would only hold others back (V2).
func (m *Machine) hearsQuorum() bool {
	return m.quorum(m.Reachable)
}

// quorum asks the strategy about the voters of the view.
func (m *Machine) quorum(has func(UID) bool) bool { return m.cfg.Strategy.Quorum(m.view.Voters, has) }

// mustFinish reports whether an undecided proposal, whose proposer may have died, keeps a node
// frozen (R2) for longer than a decision takes. The oldest tries first; the others follow, each a
// little later.
func (m *Machine) mustFinish() bool {
	if m.self.Has(report.Stopped) {
		return false
	}
	rank := 0
	for _, v := range m.view.Voters {
		if v.UID == m.cfg.UID {
			break
		}
		if m.Reachable(v.UID) && !m.reports.Stopped(v.UID) {
			rank++
		}
	}
	patience := time.Duration(1+rank) * 2 * m.cfg.HeartbeatInterval
	since := m.acceptor.FrozenAt()
	for _, v := range m.view.Voters {
		if at := m.reports.FrozenAt(v.UID); !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	if since.IsZero() {
		return false
	}
	m.dueAt(laterOf(since.Add(patience), m.now.Add(1)))
	return !m.now.Before(since.Add(patience))
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func (m *Machine) startBallot(drops []UID) {
	m.stats.BallotsStarted++
	ballot := m.proposer.Start(m.now, m.acceptor.Promised())
	msg := message.Prepare{Cluster: m.view.Cluster, Epoch: m.view.Epoch, Ballot: ballot, Drops: drops}
	m.toVoters(msg)
	m.takePrepared(m.cfg.UID, m.prepare(msg).(message.Prepared))
}

func (m *Machine) toVoters(msg message.Message) {
	for _, v := range m.view.Voters {
		if v.UID != m.cfg.UID {
			m.send(v.UID, v.Addr, msg)
		}
	}
}

func (m *Machine) onPrepared(r Receive, p message.Prepared) {
	if !m.fromVoter(r, p.Cluster, p.Epoch) {
		return
	}
	if !m.proposer.Preparing() || p.Ballot != m.proposer.Ballot() {
		m.stats.DroppedStale++
		return
	}
	if p.Accepted != nil && p.Accepted.View.Parent != m.view.Digest {
		m.stats.DroppedBad++
		return
	}
	m.takePrepared(r.From, p)
}

func (m *Machine) takePrepared(from UID, msg message.Prepared) {
	m.proposer.TakePrepared(m.now, from, paxos.Prepared{
		AcceptedBallot: msg.AcceptedBallot, Accepted: msg.Accepted, Wait: time.Duration(msg.Wait), Arbiter: msg.Arbiter,
	})
	m.maybeAccept()
}

// maybeAccept goes on to the second phase when a quorum has prepared and nothing stands in its way:
// with the value that was accepted at the highest ballot, else with what is wanted now.
func (m *Machine) maybeAccept() {
	p := m.proposer
	if !p.HasQuorum(m.quorum) {
		return
	}
	if value := p.Value(); value != nil {
		m.startAccept(value)
		return
	}
	if !m.parting.since.IsZero() {
		p.GiveUp(m.now) // all have stopped, and end when they know it of each other
		return
	}
	next := m.plan()
	if !next.Changed || !m.leads() {
		if !m.mustFinish() {
			p.GiveUp(m.now)
			return
		}
		next = nextview.Plan{Proposal: nextview.Repeat(m.scene())}
	}
	free, ok := p.FreeAt(m.now, next.WaitFor, m.quorum)
	switch {
	case !ok: // the voters that could agree have not answered yet
	case m.now.Before(free):
		p.Await(free)
		m.dueAt(free)
	default:
		m.startAccept(next.Proposal)
	}
}

func (m *Machine) startAccept(value *paxos.Proposal) {
	m.proposer.Propose(m.now, value)
	msg := message.Accept{Cluster: m.view.Cluster, Epoch: m.view.Epoch, Ballot: m.proposer.Ballot(), Proposal: value}
	m.toVoters(msg)
	m.takeAccept(m.cfg.UID, msg)
}

func (m *Machine) onAccepted(r Receive, a message.Accepted) {
	if !m.fromVoter(r, a.Cluster, a.Epoch) {
		return
	}
	if !m.proposer.Accepting() || a.Ballot != m.proposer.Ballot() {
		m.stats.DroppedStale++
		return
	}
	m.takeAccepted(r.From)
}

func (m *Machine) takeAccepted(from UID) {
	if !m.proposer.TakeAccepted(from, m.quorum) {
		return
	}
	m.stats.BallotsWon++
	v := m.proposer.Value().View
	m.oweTo(v)
	m.announce(v)
	m.install(v)
}

// announce tells a decided view to all members and nodes that it concerns.
func (m *Machine) announce(v *View) {
	for _, o := range v.Members {
		if o.UID != m.cfg.UID {
			m.send(o.UID, o.Addr, message.Commit{View: v})
		}
	}
	for _, o := range m.view.Members {
		if o.UID != m.cfg.UID && !v.Has(o.UID) {
			m.send(o.UID, o.Addr, message.Commit{View: v})
		}
	}
}

func (m *Machine) onRejected(r Receive, j message.Rejected) {
	if !m.fromVoter(r, j.Cluster, j.Epoch) {
		return
	}
	if m.proposer.Idle() || j.Ballot != m.proposer.Ballot() {
		m.stats.DroppedStale++
		return
	}
	m.takeRejected(j)
}

func (m *Machine) takeRejected(j message.Rejected) {
	m.proposer.TakeRejected(m.now, j.Promised, time.Duration(j.Wait))
	m.wake = true
}

// maybeResend repeats the second phase to the voters whose promise stood in the way.
func (m *Machine) maybeResend() {
	p := m.proposer
	at := p.ResendAt()
	if at.IsZero() {
		return
	}
	if m.now.Before(at) {
		m.dueAt(at)
		return
	}
	p.Resend()
	msg := message.Accept{Cluster: m.view.Cluster, Epoch: m.view.Epoch, Ballot: p.Ballot(), Proposal: p.Value()}
	for _, v := range m.view.Voters {
		if v.UID != m.cfg.UID && !p.HasAccepted(v.UID) {
			m.send(v.UID, v.Addr, msg)
		}
	}
	if !p.HasAccepted(m.cfg.UID) {
		m.takeAccept(m.cfg.UID, msg)
	}
}
