package voting

import (
	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// OnPrepare answers another voter's first phase.
func (v *Voter) OnPrepare(s *Scene, from view.UID, p message.Prepare) {
	a := &v.acceptor
	if a.Outbids(p.Ballot) {
		v.out.Counts.RejectsBallot++
		v.out.send(s, from, message.Rejected{
			Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Promised: a.Promised(),
		})
		return
	}
	v.out.send(s, from, prepared(v.acceptor.prepare(s, p)))
}

// prepared is the message that says what was promised.
func prepared(p arbitration.Promise) message.Prepared {
	return message.Prepared{
		Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot,
		AcceptedBallot: p.Answer.AcceptedBallot, Accepted: p.Answer.Accepted, Wait: int64(p.Answer.Wait),
		Arbiter: p.Answer.Arbiter,
	}
}

// ArbiterPromised says what the arbiter promised, now that it is certain, if nothing has come in
// between.
func (v *Voter) ArbiterPromised(s *Scene, p arbitration.Promise) {
	_, at := v.acceptor.Accepted()
	switch {
	case v.acceptor.Promised() != p.Ballot || at == p.Ballot:
	case p.Ballot.UID != v.cfg.Self:
		v.out.send(s, p.Ballot.UID, prepared(p))
	case v.proposer.Preparing() && v.proposer.Ballot() == p.Ballot:
		v.takePrepared(s, v.cfg.Self, p.Answer)
	}
}

// Bind takes over what the arbiter has promised: this node speaks for it now.
func (v *Voter) Bind(b paxos.Ballot) { v.acceptor.Bind(b) }

// OnAccept answers another voter's second phase.
func (v *Voter) OnAccept(s *Scene, from view.UID, a message.Accept) {
	next := a.Proposal.View
	if next.Epoch != s.View.Epoch+1 || next.Cluster != s.View.Cluster || next.Parent != s.View.Digest {
		v.out.Counts.Bad++
		return
	}
	v.takeAccept(s, from, a)
}

// Stored goes on with a proposal that waited for the disk.
func (v *Voter) Stored(s *Scene) {
	if !v.acceptor.disk.IsStored(v.acceptor.Record()) {
		return
	}
	if h, ok := v.acceptor.Release(); ok {
		v.takeAccept(s, h.From, message.Accept{
			Cluster: s.View.Cluster, Epoch: s.View.Epoch, Ballot: h.Ballot, Proposal: h.Proposal,
		})
	}
}

// takeAccept answers a ballot's second phase, to this node's own proposer too; when there is
// something to say.
func (v *Voter) takeAccept(s *Scene, from view.UID, a message.Accept) {
	answer := v.acceptor.accept(s, from, a, &v.out.Output)
	own := v.proposer.Accepting() && v.proposer.Ballot() == a.Ballot
	switch {
	case answer == nil:
	case from != v.cfg.Self:
		v.out.send(s, from, answer)
	case own:
		switch answer := answer.(type) {
		case message.Accepted:
			v.takeAccepted(s, from)
		case message.Rejected:
			v.takeRejected(s, answer)
		}
	}
}
