package voting

import (
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Disk is where a voter's accepted view is stored.
type Disk interface {
	// Lock has it stored that a view may be decided, and returns the number of the record.
	Lock(v *view.View) (record uint64)
	// IsStored reports whether a record, or one that replaced it, is on disk.
	IsStored(record uint64) bool
	// Pending returns the view that was locked last, nil when there is none.
	Pending() *view.View
}

// acceptance is the acceptor of a Voter, with what it takes to promise and to accept.
//
// Invariant: what was accepted is a child of the installed view, and on disk.
type acceptance struct {
	paxos.Acceptor
	self    view.UID
	disk    Disk
	arbiter *arbitration.Carrier
	granter *Granter
}

// prepare promises a ballot. It already holds back the members that will be dropped (V2). So the
// promises to them have run out when the second phase comes, and no node freezes for nothing.
func (a *acceptance) prepare(s *Scene, p message.Prepare) arbitration.Promise {
	a.Promise(p.Ballot)
	wait := a.granter.wait(s, p.Drops, a.arbiter.Wait(s.Now, s.View))
	if wait > 0 {
		a.granter.holdBack(s, p.Drops)
	}
	accepted, at := a.Accepted()
	answer := arbitration.Promise{
		Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Answer: paxos.Prepared{
			AcceptedBallot: at, Accepted: accepted, Wait: wait,
		},
	}
	a.arbiter.Promise(s.Now, s.View, answer)
	return answer
}

// accept answers a ballot's second phase; nil when there is nothing to say yet. A proposal that is
// not on disk is stored first, and accepted after that, if nothing stands against it then: the
// freeze of G2 lasts no longer because a disk is slow.
func (a *acceptance) accept(s *Scene, from view.UID, p message.Accept, out *Output) message.Message {
	if a.Outbids(p.Ballot) {
		out.Counts.RejectsBallot++
		return message.Rejected{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Promised: a.Promised()}
	}
	if !p.Proposal.View.Has(a.self) && !s.Consents {
		out.Counts.RejectsPromise++ // G4: never for itself
		return nil
	}
	drops := p.Proposal.Unconsented(s.View.View)
	if wait := a.granter.wait(s, drops, a.arbiter.Wait(s.Now, s.View)); wait > 0 {
		out.Counts.RejectsPromise++
		a.granter.holdBack(s, drops)
		return message.Rejected{
			Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot, Promised: a.Promised(), Wait: int64(wait),
		}
	}
	a.Promise(p.Ballot)
	if !a.storesPending(p) {
		a.granter.holdBack(s, drops) // a grant in the meantime would stand against it
		a.Hold(paxos.Held{From: from, Ballot: p.Ballot, Proposal: p.Proposal})
		return nil
	}
	out.Counts.Accepts++
	a.Accept(s.Now, p.Ballot, p.Proposal)
	out.Wake = true
	a.arbiter.Accept(s.Now, s.View, p.Epoch, p.Ballot, p.Proposal.View)
	return message.Accepted{Cluster: p.Cluster, Epoch: p.Epoch, Ballot: p.Ballot}
}

// storesPending reports whether it is on disk that a view may be decided, and sees to it that it
// will be. It may take the place of another view that was accepted here at a lower ballot, even if
// it is not accepted in the end. Nothing is lost by that. Its proposer has the promises of a
// quorum, and none of these had accepted the other view at a higher ballot than that of its own
// value. So the other view was not decided, and its ballot cannot be completed any more.
func (a *acceptance) storesPending(p message.Accept) bool {
	next, number := p.Proposal.View, a.Record()
	if was := a.disk.Pending(); was == nil || !view.Same(was, next) {
		number = a.disk.Lock(next)
	}
	a.Note(p.Ballot, number)
	return a.disk.IsStored(number)
}

// check verifies what was accepted against the installed view.
func (a *acceptance) check(in *view.Installed) error {
	accepted, at := a.Accepted()
	switch {
	case accepted == nil:
		return nil
	case accepted.View.Epoch != in.Epoch+1 || accepted.View.Parent != in.Digest || a.Promised().Less(at):
		return fmt.Errorf("accepted %v is no child of the view", accepted)
	case !a.notesAccepted():
		return errors.New("the accepted view is not on disk, nor one of a later ballot")
	}
	return nil
}

// notesAccepted reports whether the disk has the view that was accepted, or one of a later ballot
// that took its place (storesPending).
func (a *acceptance) notesAccepted() bool {
	p := a.disk.Pending()
	if a.Holds() {
		return p != nil
	}
	accepted, at := a.Accepted()
	return p != nil && a.disk.IsStored(a.Record()) && (view.Same(p, accepted.View) || at.Less(a.Noted()))
}
