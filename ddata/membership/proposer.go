package membership

import (
	"fmt"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
)

// proposer is this node's part in proposing the next view.
//
//	idle ──something to decide, own turn──► preparing ──quorum, promises run out──► accepting ──quorum──► (installed)
//	  ▲                                         │                                       │
//	  └────────── timed out, outbid, no longer wanted ──────────────────────────────────┘
//
// Invariant: one ballot at a time; in accepting, value is what all Accept messages of that ballot
// carry.
type proposer struct {
	phase    phase
	ballot   Ballot
	round    uint64            // highest round seen
	freeAt   map[UID]time.Time // preparing: which voters have prepared, and when their promises will have run out
	carrier  UID               // preparing: which voter has prepared for the arbiter
	highest  Ballot            // of value, while preparing
	value    *Proposal         // accepted before by a voter (preparing), or being decided (accepting)
	accepted map[UID]bool
	resendAt time.Time // accepting: when a promise in the way will have run out; zero = none
	until    time.Time // when the ballot times out
	retryAt  time.Time // idle: not before
}

type phase uint8

const (
	phaseIdle phase = iota
	phasePreparing
	phaseAccepting
)

func (p *proposer) idle() bool { return p.phase == phaseIdle }

// String prints the ballot in progress.
func (p *proposer) String() string {
	switch p.phase {
	case phasePreparing:
		return fmt.Sprintf("preparing %v", p.ballot)
	case phaseAccepting:
		return fmt.Sprintf("accepting %v", p.ballot)
	}
	return "idle"
}

func (p *proposer) becomeIdle(retryAt time.Time) {
	*p = proposer{round: p.round, retryAt: retryAt}
}

// advanceProposer starts, drives and gives up ballots.
func (m *Machine) advanceProposer() {
	p := &m.proposer
	if !p.idle() && !m.now.Before(p.until) {
		m.stats.BallotsTimedOut++
		p.becomeIdle(m.now)
	}
	switch p.phase {
	case phaseIdle:
		m.maybePropose()
	case phasePreparing:
		m.maybeAccept()
	case phaseAccepting:
		m.maybeResend()
	}
	if m.done == nil && !p.idle() {
		m.dueAt(p.until)
	}
}

// maybePropose starts a ballot when it is this node's turn and there is something to decide.
func (m *Machine) maybePropose() {
	if !m.isVoter(m.cfg.UID) || !m.hearsQuorum() || !m.parting.since.IsZero() {
		return
	}
	if m.now.Before(m.proposer.retryAt) {
		m.dueAt(m.proposer.retryAt)
		return
	}
	finish := m.mustFinish()
	var drops []UID
	if lead, ok := m.lead(); ok && lead == m.cfg.UID {
		c := m.candidate()
		if c.changed {
			drops = c.waitFor
		} else if !finish {
			return
		}
	} else if !finish {
		return
	}
	m.startBallot(drops)
}

// lead is whose turn it is to propose: the oldest reachable voter that has neither said that it
// stopped nor been downed (V3). If all voters have stopped but learners have not, the oldest
// reachable voter still hands over to them.
func (m *Machine) lead() (UID, bool) {
	for _, v := range m.voters {
		if m.Reachable(v.UID) && (!m.hasStopped(v.UID) || m.cfg.Faults.StoppedProposes) && !m.downs[v.UID] {
			return v.UID, true
		}
	}
	for _, v := range m.voters {
		if m.Reachable(v.UID) {
			return v.UID, true
		}
	}
	return 0, false
}

// hearsQuorum reports whether this node hears a quorum. Without one it cannot decide anything, and
// its ballots would only hold others back (V2).
func (m *Machine) hearsQuorum() bool {
	return m.cfg.Strategy.Quorum(m.voters, m.Reachable)
}

// mustFinish reports whether an undecided proposal, whose proposer may have died, keeps a node
// frozen (R2) for longer than a decision takes. The oldest tries first; the others follow, each a
// little later.
func (m *Machine) mustFinish() bool {
	if m.self.stopped {
		return false
	}
	rank := 0
	for _, v := range m.voters {
		if v.UID == m.cfg.UID {
			break
		}
		if m.Reachable(v.UID) && !m.hasStopped(v.UID) {
			rank++
		}
	}
	patience := time.Duration(1+rank) * 2 * m.cfg.HeartbeatInterval
	since := m.acceptor.acceptedAt
	for _, v := range m.voters {
		if p := m.peers[v.UID]; p != nil && !p.frozenAt.IsZero() && (since.IsZero() || p.frozenAt.Before(since)) {
			since = p.frozenAt
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
	p := &m.proposer
	m.stats.BallotsStarted++
	p.round = max(p.round, m.acceptor.promised.Round) + 1
	*p = proposer{
		phase: phasePreparing, round: p.round, ballot: Ballot{Round: p.round, UID: m.cfg.UID},
		freeAt: make(map[UID]time.Time), accepted: make(map[UID]bool), until: m.ballotEnd(m.now),
	}
	msg := Prepare{Cluster: m.view.Cluster, Epoch: m.view.Epoch, Ballot: p.ballot, Drops: drops}
	m.toVoters(msg)
	m.takePrepared(m.cfg.UID, m.prepare(msg).(Prepared))
}

func (m *Machine) ballotEnd(from time.Time) time.Time {
	hb := m.cfg.HeartbeatInterval
	return from.Add(2*hb + time.Duration(m.rng.Int64N(int64(hb)+1)))
}

func (m *Machine) toVoters(msg Message) {
	for _, v := range m.voters {
		if v.UID != m.cfg.UID {
			m.send(v.UID, v.Addr, msg)
		}
	}
}

func (m *Machine) onPrepared(r Receive, p Prepared) {
	if !m.fromVoter(r, p.Cluster, p.Epoch) {
		return
	}
	if m.proposer.phase != phasePreparing || p.Ballot != m.proposer.ballot {
		m.stats.DroppedStale++
		return
	}
	if p.Accepted != nil && p.Accepted.View.Parent != m.hash {
		m.stats.DroppedBad++
		return
	}
	m.takePrepared(r.From, p)
}

func (m *Machine) takePrepared(from UID, msg Prepared) {
	p := &m.proposer
	free := m.now.Add(max(0, min(time.Duration(msg.Wait), m.cfg.promise())))
	p.freeAt[from] = free
	if msg.Arbiter {
		p.freeAt[downing.Arbiter], p.carrier = free, from
	}
	if msg.Accepted != nil && p.highest.less(msg.AcceptedBallot) {
		p.highest, p.value = msg.AcceptedBallot, msg.Accepted
	}
	m.maybeAccept()
}

// maybeAccept goes on to the second phase when a quorum has prepared and nothing stands in its way:
// with the value that was accepted at the highest ballot, else with what is wanted now.
func (m *Machine) maybeAccept() {
	p := &m.proposer
	prepared := func(u UID) bool { _, ok := p.freeAt[u]; return ok }
	if !m.cfg.Strategy.Quorum(m.voters, prepared) {
		return
	}
	if p.value != nil {
		m.startAccept(p.value)
		return
	}
	if !m.parting.since.IsZero() {
		p.becomeIdle(m.now) // all have stopped, and end when they know it of each other
		return
	}
	c := m.candidate()
	if lead, ok := m.lead(); !c.changed || !ok || lead != m.cfg.UID {
		if !m.mustFinish() {
			p.becomeIdle(m.now)
			return
		}
		c = m.sameAgain()
	}
	free, ok := m.freeTime(c)
	switch {
	case !ok: // the voters that could agree have not answered yet
	case m.now.Before(free):
		p.until = laterOf(p.until, m.ballotEnd(free))
		m.dueAt(free)
	default:
		m.startAccept(c.proposal)
	}
}

// freeTime returns when a quorum of the prepared voters will have no promise left that stands
// against the candidate. Voters that would not agree to their own removal do not count.
func (m *Machine) freeTime(c candidate) (time.Time, bool) {
	p := &m.proposer
	if len(c.waitFor) == 0 { // no lease stands against it, or not any more
		return m.now, true
	}
	var times []time.Time
	against := func(u UID) bool {
		return slices.Contains(c.waitFor, u) || u == downing.Arbiter && slices.Contains(c.waitFor, p.carrier)
	}
	for u, t := range p.freeAt { // order: sorted below
		if !against(u) {
			times = append(times, t)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, t := range times {
		free := func(u UID) bool {
			at, ok := p.freeAt[u]
			return ok && !at.After(t) && !against(u)
		}
		if m.cfg.Strategy.Quorum(m.voters, free) {
			return t, true
		}
	}
	return time.Time{}, false
}

func (m *Machine) startAccept(value *Proposal) {
	p := &m.proposer
	p.phase, p.value, p.until = phaseAccepting, value, m.ballotEnd(m.now)
	msg := Accept{Cluster: m.view.Cluster, Epoch: m.view.Epoch, Ballot: p.ballot, Proposal: value}
	m.toVoters(msg)
	m.takeAccept(m.cfg.UID, msg)
}

func (m *Machine) onAccepted(r Receive, a Accepted) {
	if !m.fromVoter(r, a.Cluster, a.Epoch) {
		return
	}
	if m.proposer.phase != phaseAccepting || a.Ballot != m.proposer.ballot {
		m.stats.DroppedStale++
		return
	}
	m.takeAccepted(r.From)
}

func (m *Machine) takeAccepted(from UID) {
	p := &m.proposer
	p.accepted[from] = true
	if !m.cfg.Strategy.Quorum(m.voters, has(p.accepted)) {
		return
	}
	m.stats.BallotsWon++
	v := p.value.View
	m.oweTo(v)
	m.announce(v)
	m.install(v)
}

// announce tells a decided view to all members and nodes that it concerns.
func (m *Machine) announce(v *View) {
	for _, o := range v.Members {
		if o.UID != m.cfg.UID {
			m.send(o.UID, o.Addr, Commit{View: v})
		}
	}
	for _, o := range m.view.Members {
		if o.UID != m.cfg.UID && !v.Has(o.UID) {
			m.send(o.UID, o.Addr, Commit{View: v})
		}
	}
}

func (m *Machine) onRejected(r Receive, j Rejected) {
	if !m.fromVoter(r, j.Cluster, j.Epoch) {
		return
	}
	if m.proposer.idle() || j.Ballot != m.proposer.ballot {
		m.stats.DroppedStale++
		return
	}
	m.takeRejected(j)
}

func (m *Machine) takeRejected(j Rejected) {
	p := &m.proposer
	p.round = max(p.round, j.Promised.Round)
	if j.Wait <= 0 { // outbid: let the other one finish
		hb := m.cfg.HeartbeatInterval
		p.becomeIdle(m.now.Add(hb/2 + time.Duration(m.rng.Int64N(int64(hb)+1))))
		m.wake = true
		return
	}
	at := m.now.Add(min(time.Duration(j.Wait), m.cfg.promise()))
	if p.resendAt.IsZero() || at.Before(p.resendAt) {
		p.resendAt = at
	}
	p.until = laterOf(p.until, m.ballotEnd(at))
	m.wake = true
}

// maybeResend repeats the second phase to the voters whose promise stood in the way.
func (m *Machine) maybeResend() {
	p := &m.proposer
	if p.resendAt.IsZero() {
		return
	}
	if m.now.Before(p.resendAt) {
		m.dueAt(p.resendAt)
		return
	}
	p.resendAt = time.Time{}
	msg := Accept{Cluster: m.view.Cluster, Epoch: m.view.Epoch, Ballot: p.ballot, Proposal: p.value}
	for _, v := range m.voters {
		if v.UID != m.cfg.UID && !p.accepted[v.UID] {
			m.send(v.UID, v.Addr, msg)
		}
	}
	if !p.accepted[m.cfg.UID] {
		m.takeAccept(m.cfg.UID, msg)
	}
}
