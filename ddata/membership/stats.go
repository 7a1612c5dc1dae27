package membership

import (
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/voting"
)

// Stats counts what happened since New.
type Stats struct {
	Steps               uint64
	ViewsInstalled      uint64
	BallotsStarted      uint64
	BallotsWon          uint64
	BallotsTimedOut     uint64
	Accepts             uint64 // proposals accepted here
	RejectsBallot       uint64 // proposals rejected here because of a higher ballot
	RejectsPromise      uint64 // and because of a promise (G4)
	GrantsGiven         uint64
	GrantsWithheld      uint64 // frozen (G2), held back (V2) or downed
	GrantsReceived      uint64
	LeasesLost          uint64
	JoinsRefused        uint64
	DroppedOtherCluster uint64 // messages of another cluster
	DroppedStale        uint64 // of another epoch, ballot or incarnation
	DroppedBad          uint64 // senseless
	DroppedFull         uint64 // joiners, candidates or hints above the limits
	Forks               uint64 // views that contradict the own chain; must stay zero
}

// count adds what happened in a call of the voter.
func (s *Stats) count(c voting.Counts) {
	s.BallotsStarted += c.Started
	s.BallotsWon += c.Won
	s.BallotsTimedOut += c.TimedOut
	s.Accepts += c.Accepts
	s.RejectsBallot += c.RejectsBallot
	s.RejectsPromise += c.RejectsPromise
	s.DroppedStale += c.Stale
	s.DroppedBad += c.Bad
}

// drop adds what the seeker took nothing of.
func (s *Stats) drop(d bootstrap.Dropped) {
	s.DroppedFull += d.Full
	s.DroppedBad += d.Bad
	s.DroppedStale += d.Stale
	s.DroppedOtherCluster += d.OtherCluster
}
