package paxos

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Quorum reports whether the voters for which has is true may decide.
type Quorum func(has func(view.UID) bool) bool

// Proposer is one voter's part in proposing the next view.
//
//	idle ──Start──► preparing ──a quorum has prepared, nothing stands against it──► accepting ──quorum──► (decided)
//	  ▲                │                                                               │
//	  └────────────────┴── timed out, outbid, given up ────────────────────────────────┘
//
// Invariant: one ballot at a time; in accepting, value is what all messages of that ballot carry.
type Proposer struct {
	cfg     Config
	rng     *rand.Rand
	round   uint64    // highest round seen
	retryAt time.Time // idle: no ballot before
	ballot  ballot    // in progress; zero = idle
}

// Config tells a Proposer of its node.
type Config struct {
	Self    view.UID      // this node
	Arbiter view.UID      // the uid under which an arbiter votes
	Beat    time.Duration // a ballot lasts for two to three beats
	WaitMax time.Duration // no promise of an honest voter runs for longer
}

// ballot is what belongs to one ballot.
type ballot struct {
	phase    phase
	id       Ballot
	answers  map[view.UID]answer // preparing: of the voters that have prepared
	carrier  view.UID            // preparing: which voter has prepared for the arbiter
	value    *Proposal           // accepting: what is being decided
	accepted map[view.UID]bool   // accepting: the voters that have accepted it
	resendAt time.Time           // accepting: when a promise in the way will have run out; zero = none
	until    time.Time           // when it times out
}

// answer is what a voter has answered to the first phase.
type answer struct {
	freeAt   time.Time // when its promises will have run out
	ballot   Ballot    // of accepted
	accepted *Proposal // nil = nothing
}

type phase uint8

const (
	idle phase = iota
	preparing
	accepting
)

// Prepared is a voter's answer to a ballot's first phase.
type Prepared struct {
	AcceptedBallot Ballot
	Accepted       *Proposal     // nil = nothing
	Wait           time.Duration // how long promises to members that are dropped still run there
	Arbiter        bool          // the arbiter's answer, too
}

// NewProposer returns an idle Proposer.
func NewProposer(cfg Config, rng *rand.Rand) *Proposer { return &Proposer{cfg: cfg, rng: rng} }

// Reset forgets everything: another view is decided from now on.
func (p *Proposer) Reset() { *p = Proposer{cfg: p.cfg, rng: p.rng} }

// Idle reports whether no ballot is in progress.
func (p *Proposer) Idle() bool { return p.ballot.phase == idle }

// Preparing reports whether the first phase of a ballot is in progress.
func (p *Proposer) Preparing() bool { return p.ballot.phase == preparing }

// Accepting reports whether the second phase of a ballot is in progress.
func (p *Proposer) Accepting() bool { return p.ballot.phase == accepting }

// Ballot is the one in progress, zero when there is none.
func (p *Proposer) Ballot() Ballot { return p.ballot.id }

// Round is the highest round that was seen.
func (p *Proposer) Round() uint64 { return p.round }

// Value is the proposal of the second phase; nil before it.
func (p *Proposer) Value() *Proposal { return p.ballot.value }

// Until is when the ballot in progress times out.
func (p *Proposer) Until() time.Time { return p.ballot.until }

// RetryAt is the time before which no ballot is started.
func (p *Proposer) RetryAt() time.Time { return p.retryAt }

// GiveUp ends the ballot in progress. No other is started before retryAt.
func (p *Proposer) GiveUp(retryAt time.Time) { p.ballot, p.retryAt = ballot{}, retryAt }

// TimesOut gives the ballot in progress up when it has lasted too long, and reports whether it did.
func (p *Proposer) TimesOut(now time.Time) bool {
	if p.Idle() || now.Before(p.ballot.until) {
		return false
	}
	p.GiveUp(now)
	return true
}

// Start begins a ballot above all rounds that were seen.
func (p *Proposer) Start(now time.Time, promised Ballot) Ballot {
	p.round = max(p.round, promised.Round) + 1
	p.retryAt = time.Time{}
	p.ballot = ballot{
		phase: preparing, id: Ballot{Round: p.round, UID: p.cfg.Self},
		answers: make(map[view.UID]answer), accepted: make(map[view.UID]bool), until: p.end(now),
	}
	return p.ballot.id
}

// end draws when a ballot times out that gets on from then on.
func (p *Proposer) end(from time.Time) time.Time {
	return from.Add(2*p.cfg.Beat + time.Duration(p.rng.Int64N(int64(p.cfg.Beat)+1)))
}

// TakePrepared counts a voter's answer to the first phase.
func (p *Proposer) TakePrepared(now time.Time, from view.UID, a Prepared) {
	b := &p.ballot
	got := answer{freeAt: now.Add(max(0, min(a.Wait, p.cfg.WaitMax)))}
	if a.Accepted != nil {
		got.ballot, got.accepted = a.AcceptedBallot, a.Accepted
	}
	b.answers[from] = got
	if a.Arbiter {
		b.answers[p.cfg.Arbiter], b.carrier = got, from
	}
}

// Choose returns the value of the second phase by the answers of a quorum: what was accepted at the
// highest ballot in that quorum; nil if nothing was, and any value will do. refuses reports whether a
// voter never accepts a value. It returns false while the voters that have answered could not decide the
// value of any quorum.
//
// The answers of one quorum are as good as those of another. If a value was decided, a voter of each
// quorum has accepted it. So a value that some voter accepted and the others refuse can be left out, if
// there is a quorum without that voter. Otherwise it would be proposed again in each ballot, and nothing
// would be decided.
func (p *Proposer) Choose(quorum Quorum, refuses func(view.UID, *Proposal) bool) (value *Proposal, ok bool) {
	b := &p.ballot
	for _, x := range p.accepted() {
		upTo := func(u view.UID) bool { a, ok := b.answers[u]; return ok && !x.ballot.Less(a.ballot) }
		if !quorum(upTo) {
			break
		}
		agrees := func(u view.UID) bool {
			_, ok := b.answers[u]
			if u == p.cfg.Arbiter {
				u = b.carrier
			}
			return ok && !refuses(u, x.accepted)
		}
		if x.accepted == nil || quorum(agrees) {
			return x.accepted, true
		}
	}
	return nil, false
}

// accepted returns what the voters that have answered had accepted, that of the highest ballot first,
// and nothing as the last.
func (p *Proposer) accepted() []answer {
	all := []answer{{}}
	for _, a := range p.ballot.answers { // order: sorted below; a ballot has one value
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b answer) int { return b.ballot.compare(a.ballot) })
	return slices.CompactFunc(all, func(a, b answer) bool { return a.ballot == b.ballot })
}

// FreeAt returns when a quorum of the prepared voters will have no promise left that stands against
// dropping members. Voters that would not agree to their own removal do not count. It reports false
// while the voters that could agree have not answered.
func (p *Proposer) FreeAt(now time.Time, drops []view.UID, quorum Quorum) (time.Time, bool) {
	b := &p.ballot
	if len(drops) == 0 { // no lease stands against it, or not any more
		return now, true
	}
	var times []time.Time
	against := func(u view.UID) bool {
		return slices.Contains(drops, u) || u == p.cfg.Arbiter && slices.Contains(drops, b.carrier)
	}
	for u, a := range b.answers { // order: sorted below
		if !against(u) {
			times = append(times, a.freeAt)
		}
	}
	slices.SortFunc(times, time.Time.Compare)
	for _, t := range times {
		free := func(u view.UID) bool {
			a, ok := b.answers[u]
			return ok && !a.freeAt.After(t) && !against(u)
		}
		if quorum(free) {
			return t, true
		}
	}
	return time.Time{}, false
}

// Await lets the ballot last until something has run out, and a while longer.
func (p *Proposer) Await(free time.Time) { p.ballot.until = later(p.ballot.until, p.end(free)) }

// Propose begins the second phase with a value. That must be what Choose has returned, unless that is nil.
func (p *Proposer) Propose(now time.Time, value *Proposal) {
	p.ballot.phase, p.ballot.value, p.ballot.until = accepting, value, p.end(now)
}

// TakeAccepted counts a voter that has accepted, and reports whether the value is decided.
func (p *Proposer) TakeAccepted(from view.UID, quorum Quorum) bool {
	p.ballot.accepted[from] = true
	return quorum(p.HasAccepted)
}

// HasAccepted reports whether a voter has said that it accepted.
func (p *Proposer) HasAccepted(u view.UID) bool { return p.ballot.accepted[u] }

// TakeRejected takes a rejection: the ballot is outbid, and given up so that the other one can
// finish; or a promise still runs, and the second phase is repeated when it has run out.
func (p *Proposer) TakeRejected(now time.Time, promised Ballot, wait time.Duration) {
	p.round = max(p.round, promised.Round)
	if wait <= 0 {
		p.GiveUp(now.Add(p.cfg.Beat/2 + time.Duration(p.rng.Int64N(int64(p.cfg.Beat)+1))))
		return
	}
	b := &p.ballot
	at := now.Add(min(wait, p.cfg.WaitMax))
	if b.resendAt.IsZero() || at.Before(b.resendAt) {
		b.resendAt = at
	}
	p.Await(at)
}

// ResendAt is when the second phase is repeated; zero = not at all.
func (p *Proposer) ResendAt() time.Time { return p.ballot.resendAt }

// Resend notes that the second phase is repeated.
func (p *Proposer) Resend() { p.ballot.resendAt = time.Time{} }

// String prints the ballot in progress.
func (p *Proposer) String() string {
	switch p.ballot.phase {
	case preparing:
		return fmt.Sprintf("preparing %v", p.ballot.id)
	case accepting:
		return fmt.Sprintf("accepting %v", p.ballot.id)
	}
	return "idle"
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
