package voting

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/nextview"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
)

// Scene is what a node knows at one moment.
type Scene struct {
	nextview.Scene
	Consents bool // this node runs nothing: it may be dropped
	Parts    bool // all have stopped, and end when they know it of each other
}

// quorum asks a strategy about the voters of the view.
func (s *Scene) quorum(strategy downing.Strategy) paxos.Quorum {
	return func(has func(view.UID) bool) bool { return strategy.Quorum(s.View.Voters, has) }
}

// finishAt returns when this node finishes what keeps a voter frozen; false = nothing does, or it
// has stopped. The oldest tries first; the others follow, each a little later.
func (s *Scene) finishAt(self view.UID, frozenAt time.Time, beat time.Duration) (time.Time, bool) {
	if s.Reports.Stopped(self) {
		return time.Time{}, false
	}
	rank := 0
	for _, o := range s.View.Voters {
		if o.UID == self {
			break
		}
		if s.Reachable(o.UID) && !s.Reports.Stopped(o.UID) {
			rank++
		}
	}
	for _, o := range s.View.Voters {
		if at := s.Reports.FrozenAt(o.UID); !at.IsZero() && (frozenAt.IsZero() || at.Before(frozenAt)) {
			frozenAt = at
		}
	}
	return frozenAt.Add(time.Duration(1+rank) * 2 * beat), !frozenAt.IsZero()
}

// Output is what a call of the Voter wants done, in the order of the fields.
type Output struct {
	Send       []message.Envelope
	ForgetLate bool       // joiners that have not asked lately can be forgotten
	Wake       bool       // Advance has something to do at once
	timer.Next            // when to call Advance again at the latest
	Decided    *view.View // to be told to the nodes that it concerns, and installed; nil = none
	Counts     Counts
}

// Counts is what happened in a call.
type Counts struct {
	Started, Won, TimedOut        uint64 // ballots
	Accepts                       uint64 // proposals accepted here
	RejectsBallot, RejectsPromise uint64 // proposals rejected here, because of a higher ballot or a promise (G4)
	Stale, Bad                    uint64 // messages that were dropped
}

// outbox gathers the Output of a node.
type outbox struct {
	Output
	self view.UID
}

// take returns what was gathered since the last time.
func (b *outbox) take() Output {
	out := b.Output
	b.Output = Output{}
	return out
}

// send sends to a member of the view other than this node.
func (b *outbox) send(s *Scene, to view.UID, msg message.Message) {
	o, _ := s.View.Member(to)
	b.Send = append(b.Send, message.Envelope{To: to, Addr: o.Addr, Msg: msg})
}

// toVoters sends to the other voters.
func (b *outbox) toVoters(s *Scene, msg message.Message) {
	for _, o := range s.View.Voters {
		if o.UID != b.self {
			b.Send = append(b.Send, message.Envelope{To: o.UID, Addr: o.Addr, Msg: msg})
		}
	}
}
