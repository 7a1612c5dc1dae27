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
		v.out.send(s, from, message.Rejected{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Promised: a.Promised()})
		return
	}
	v.out.send(s, from, prepared(v.prepare(s, p)))
}

// prepared is the message that says what was promised.
func prepared(p arbitration.Promise) message.Prepared {
	return message.Prepared{
		Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot,
		AcceptedBallot: p.Answer.AcceptedBallot, Accepted: p.Answer.Accepted, Wait: int64(p.Answer.Wait), Arbiter: p.Answer.Arbiter,
	}
}

// prepare promises a ballot. It already holds back the members that will be dropped (V2). So the
// promises to them have run out when the second phase comes, and no node freezes for nothing.
func (v *Voter) prepare(s *Scene, p message.Prepare) arbitration.Promise {
	a := &v.acceptor
	a.Promise(p.Ballot)
	wait := v.granter.wait(s, p.Drops, v.arbiter.Wait(s.Now, s.View))
	if wait > 0 {
		v.granter.holdBack(s, p.Drops)
	}
	accepted, at := a.Accepted()
	answer := arbitration.Promise{
		Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Answer: paxos.Prepared{AcceptedBallot: at, Accepted: accepted, Wait: wait},
	}
	v.arbiter.Promise(s.Now, s.View, answer)
	return answer
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
	if !v.disk.IsStored(v.acceptor.Record()) {
		return
	}
	if h, ok := v.acceptor.Release(); ok {
		v.takeAccept(s, h.From, message.Accept{Cluster: s.View.Cluster, Epoch: s.View.Epoch, Ballot: h.Ballot, Proposal: h.Proposal})
	}
}

// takeAccept answers a ballot's second phase, to this node's own proposer too; when there is
// something to say.
func (v *Voter) takeAccept(s *Scene, from view.UID, a message.Accept) {
	answer := v.accept(s, from, a)
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

// accept answers a ballot's second phase; nil when there is nothing to say yet. A proposal that is
// not on disk is stored first, and accepted after that, if nothing stands against it then: the
// freeze of R2 lasts no longer because a disk is slow.
func (v *Voter) accept(s *Scene, from view.UID, p message.Accept) message.Message {
	a := &v.acceptor
	if a.Outbids(p.Ballot) {
		v.out.Counts.RejectsBallot++
		return message.Rejected{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Promised: a.Promised()}
	}
	if !p.Proposal.View.Has(v.cfg.Self) && !s.Consents {
		v.out.Counts.RejectsPromise++ // R4: never for itself
		return nil
	}
	drops := p.Proposal.Unconsented(s.View.View)
	if wait := v.granter.wait(s, drops, v.arbiter.Wait(s.Now, s.View)); wait > 0 {
		v.out.Counts.RejectsPromise++
		v.granter.holdBack(s, drops)
		return message.Rejected{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Promised: a.Promised(), Wait: int64(wait)}
	}
	a.Promise(p.Ballot)
	if !v.storesPending(p) {
		v.granter.holdBack(s, drops) // a grant in the meantime would stand against it
		a.Hold(paxos.Held{From: from, Ballot: p.Ballot, Proposal: p.Proposal})
		return nil
	}
	v.out.Counts.Accepts++
	a.Accept(s.Now, p.Ballot, p.Proposal)
	v.out.Wake = true
	v.arbiter.Accept(s.Now, s.View, p.Epoch, p.Ballot, p.Proposal.View)
	return message.Accepted{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot}
}

// storesPending reports whether it is on disk that a view may be decided, and sees to it that it
// will be. It may take the place of another view that was accepted here at a lower ballot, even if
// it is not accepted in the end. Nothing is lost by that. Its proposer has the promises of a
// quorum, and none of these had accepted the other view at a higher ballot than that of its own
// value. So the other view was not decided, and its ballot cannot be completed any more.
func (v *Voter) storesPending(p message.Accept) bool {
	next, number := p.Proposal.View, v.acceptor.Record()
	if was := v.disk.Pending(); was == nil || was.Hash() != next.Hash() {
		number = v.disk.Lock(next)
	}
	v.acceptor.Note(p.Ballot, number)
	return v.disk.IsStored(number)
}
