package paxos

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Acceptor is one voter's part in deciding the view after the installed one. It lives in memory: a
// restarted process has another uid and is no acceptor of this epoch any more. The zero Acceptor
// has promised nothing.
//
//	idle ──Promise──► promised ──Hold: not on disk yet──► held ──Stored──► (tried again)
//	                     └──Accept──► accepted
//
// Invariant: accepted is nil, or it was accepted at ballot ≤ promised.
type Acceptor struct {
	promised   Ballot
	ballot     Ballot // of accepted
	accepted   *Proposal
	acceptedAt time.Time // when the first proposal was accepted
	record     uint64    // the first record on disk that has a proposal of noted
	noted      Ballot
	held       *Held // what is accepted when it is stored; nil = nothing
}

// Held is a second phase that waits for the disk.
type Held struct {
	From     view.UID
	Ballot   Ballot
	Proposal *Proposal
}

// Outbids reports whether the acceptor has promised to refuse a ballot.
func (a *Acceptor) Outbids(b Ballot) bool { return b.Less(a.promised) }

// Promise refuses all lower ballots from now on. The ballot must not be outbid.
func (a *Acceptor) Promise(b Ballot) { a.promised = b }

// Bind takes over a promise that another acceptor made, which this one speaks for.
func (a *Acceptor) Bind(b Ballot) {
	if a.promised.Less(b) {
		a.promised = b
	}
}

// Note says that the disk has a ballot's proposal, or is about to: in that record or a later one.
func (a *Acceptor) Note(b Ballot, record uint64) { a.noted, a.record = b, record }

// Record is the number of the record that Note named.
func (a *Acceptor) Record() uint64 { return a.record }

// Noted is the ballot of the proposal that the disk has.
func (a *Acceptor) Noted() Ballot { return a.noted }

// Hold keeps a second phase until its record is stored. A later one takes its place.
func (a *Acceptor) Hold(h Held) { a.held = &h }

// Holds reports whether a second phase waits for the disk.
func (a *Acceptor) Holds() bool { return a.held != nil }

// Release returns what was held, to be tried again, and holds it no more.
func (a *Acceptor) Release() (h Held, ok bool) {
	if a.held == nil {
		return Held{}, false
	}
	h, a.held = *a.held, nil
	return h, true
}

// Accept accepts a ballot's proposal.
func (a *Acceptor) Accept(now time.Time, b Ballot, p *Proposal) {
	a.ballot = b
	if a.accepted == nil {
		a.acceptedAt = now
	}
	a.accepted = p
}

// Promised is the lowest ballot that is not refused.
func (a *Acceptor) Promised() Ballot { return a.promised }

// Accepted returns the proposal that was accepted at the highest ballot, and that ballot; nil =
// none.
func (a *Acceptor) Accepted() (*Proposal, Ballot) { return a.accepted, a.ballot }

// Frozen reports whether the acceptor has accepted a proposal, so that its node grants nothing
// before it knows what was decided (G2).
func (a *Acceptor) Frozen() bool { return a.accepted != nil }

// FrozenAt returns when the first proposal was accepted; zero = none was.
func (a *Acceptor) FrozenAt() time.Time { return a.acceptedAt }
