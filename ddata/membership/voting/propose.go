package voting

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nextview"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Advance starts, drives and gives up ballots.
func (v *Voter) Advance(s *Scene) {
	p := v.proposer
	if p.TimesOut(s.Now) {
		v.out.Counts.TimedOut++
	}
	switch {
	case p.Idle():
		v.maybePropose(s)
	case p.Preparing():
		v.maybeAccept(s)
	case p.Accepting():
		v.maybeResend(s)
	}
	if !p.Idle() {
		v.out.DueAt(p.Until())
	}
}

// maybePropose starts a ballot when it is this node's turn and there is something to decide. A node
// that hears no quorum cannot decide anything, and its ballots would only hold others back (V2).
func (v *Voter) maybePropose(s *Scene) {
	if !s.View.IsVoter(v.cfg.Self) || !s.quorum(v.cfg.Strategy)(s.Reachable) || s.Parts {
		return
	}
	if at := v.proposer.RetryAt(); s.Now.Before(at) {
		v.out.DueAt(at)
		return
	}
	finish := v.mustFinish(s)
	var drops []view.UID
	if v.Leads(s) {
		p := v.plan(s)
		if p.Changed {
			drops = p.WaitFor
		} else if !finish {
			return
		}
	} else if !finish {
		return
	}
	v.startBallot(s, drops)
}

// plan composes the next view.
func (v *Voter) plan(s *Scene) nextview.Plan {
	s.Idle = v.Idle()
	p := nextview.Compose(v.cfg.Config, s.Scene)
	v.out.ForgetLate = v.out.ForgetLate || p.Admits
	if !p.Due.IsZero() {
		v.out.DueAt(p.Due)
	}
	return p
}

// mustFinish reports whether an undecided proposal, whose proposer may have died, keeps a node
// frozen (G2) for longer than a decision takes.
func (v *Voter) mustFinish(s *Scene) bool {
	at, ok := s.finishAt(v.cfg.Self, v.acceptor.FrozenAt(), v.cfg.Beat)
	switch {
	case !ok:
		return false
	case s.Now.Before(at):
		v.out.DueAt(at)
		return false
	}
	v.out.DueAt(s.Now.Add(1))
	return true
}

func (v *Voter) startBallot(s *Scene, drops []view.UID) {
	v.out.Counts.Started++
	ballot := v.proposer.Start(s.Now, v.acceptor.Promised())
	msg := message.Prepare{Cluster: s.View.Cluster, Epoch: s.View.Epoch, Ballot: ballot, Drops: drops}
	v.out.toVoters(s, msg)
	v.takePrepared(s, v.cfg.Self, v.acceptor.prepare(s, msg).Answer)
}

// OnPrepared takes another voter's answer to the first phase.
func (v *Voter) OnPrepared(s *Scene, from view.UID, p message.Prepared) {
	if !v.proposer.Preparing() || p.Ballot != v.proposer.Ballot() {
		v.out.Counts.Stale++
		return
	}
	if p.Accepted != nil && p.Accepted.View.Parent != s.View.Digest {
		v.out.Counts.Bad++
		return
	}
	v.takePrepared(s, from, paxos.Prepared{
		AcceptedBallot: p.AcceptedBallot, Accepted: p.Accepted, Wait: time.Duration(p.Wait), Arbiter: p.Arbiter,
	})
}

func (v *Voter) takePrepared(s *Scene, from view.UID, answer paxos.Prepared) {
	v.proposer.TakePrepared(s.Now, from, answer)
	v.maybeAccept(s)
}

// maybeAccept goes on to the second phase when a quorum has prepared and nothing stands in its way:
// with the value that was accepted at the highest ballot, else with what is wanted now. A voter that
// runs refuses its own removal (G4).
func (v *Voter) maybeAccept(s *Scene) {
	p, quorum := v.proposer, s.quorum(v.cfg.Strategy)
	value, ok := p.Choose(quorum, func(u view.UID, value *paxos.Proposal) bool {
		return !value.View.Has(u) && !s.Reports.Stopped(u)
	})
	switch {
	case !ok: // a quorum has not answered yet, or those that could agree to what was accepted have not
		return
	case value != nil:
		v.startAccept(s, value)
		return
	}
	if s.Parts {
		p.GiveUp(s.Now) // all have stopped, and end when they know it of each other
		return
	}
	next := v.plan(s)
	if !next.Changed || !v.Leads(s) {
		if !v.mustFinish(s) {
			p.GiveUp(s.Now)
			return
		}
		next = nextview.Plan{Proposal: nextview.Repeat(s.Scene)}
	}
	free, ok := p.FreeAt(s.Now, next.WaitFor, quorum)
	switch {
	case !ok: // the voters that could agree have not answered yet
	case s.Now.Before(free):
		p.Await(free)
		v.out.DueAt(free)
	default:
		v.startAccept(s, next.Proposal)
	}
}

func (v *Voter) startAccept(s *Scene, value *paxos.Proposal) {
	v.proposer.Propose(s.Now, value)
	msg := message.Accept{Cluster: s.View.Cluster, Epoch: s.View.Epoch, Ballot: v.proposer.Ballot(), Proposal: value}
	v.out.toVoters(s, msg)
	v.takeAccept(s, v.cfg.Self, msg)
}

// OnAccepted takes another voter's answer to the second phase.
func (v *Voter) OnAccepted(s *Scene, from view.UID, a message.Accepted) {
	if !v.proposer.Accepting() || a.Ballot != v.proposer.Ballot() {
		v.out.Counts.Stale++
		return
	}
	v.takeAccepted(s, from)
}

func (v *Voter) takeAccepted(s *Scene, from view.UID) {
	if !v.proposer.TakeAccepted(from, s.quorum(v.cfg.Strategy)) {
		return
	}
	v.out.Counts.Won++
	v.out.Decided = v.proposer.Value().View
	v.proposer.Reset()
}

// OnRejected takes another voter's refusal.
func (v *Voter) OnRejected(s *Scene, j message.Rejected) {
	if v.proposer.Idle() || j.Ballot != v.proposer.Ballot() {
		v.out.Counts.Stale++
		return
	}
	v.takeRejected(s, j)
}

func (v *Voter) takeRejected(s *Scene, j message.Rejected) {
	v.proposer.TakeRejected(s.Now, j.Promised, time.Duration(j.Wait))
	v.out.Wake = true
}

// maybeResend repeats the second phase to the voters whose promise stood in the way.
func (v *Voter) maybeResend(s *Scene) {
	p := v.proposer
	at := p.ResendAt()
	if at.IsZero() {
		return
	}
	if s.Now.Before(at) {
		v.out.DueAt(at)
		return
	}
	p.Resend()
	msg := message.Accept{Cluster: s.View.Cluster, Epoch: s.View.Epoch, Ballot: p.Ballot(), Proposal: p.Value()}
	for _, o := range s.View.Voters {
		if o.UID != v.cfg.Self && !p.HasAccepted(o.UID) {
			v.out.send(s, o.UID, msg)
		}
	}
	if !p.HasAccepted(v.cfg.Self) {
		v.takeAccept(s, v.cfg.Self, msg)
	}
}
