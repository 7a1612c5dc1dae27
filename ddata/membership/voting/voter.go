package voting

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/arbitration"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/nextview"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Config is what the configuration of a node says of voting.
type Config struct {
	nextview.Config
	LeaseDuration time.Duration // L

	// Planted defects.
	NoPromise        bool // R4 off: a proposal is accepted although a promise to a dropped member runs
	NoInstallPromise bool // R3 off: installing a view promises nothing
	NoV2             bool // a refusing acceptor goes on granting to those that it would drop
	NeverFree        bool // a node never finds that what it granted is not in use any more
	StoppedProposes  bool // V3 off: a node that has stopped goes on proposing
}

// Disk is where a voter's accepted view is stored.
type Disk interface {
	// Lock has it stored that a view may be decided, and returns the number of the record.
	Lock(v *view.View) (record uint64)
	// IsStored reports whether a record, or one that replaced it, is on disk.
	IsStored(record uint64) bool
	// Pending returns the view that was locked last, nil when there is none.
	Pending() *view.View
}

// Voter is one member's part in deciding the next view.
//
// Invariant: what the acceptor and the proposer hold belongs to the epoch of the installed view.
type Voter struct {
	cfg      Config
	disk     Disk
	arbiter  *arbitration.Carrier
	acceptor paxos.Acceptor
	proposer *paxos.Proposer
	granter  *Granter
	out      outbox
}

// New returns a Voter that has promised nothing. The granter is that of the same node.
func New(cfg Config, rng *rand.Rand, disk Disk, arbiter *arbitration.Carrier, granter *Granter) *Voter {
	return &Voter{
		cfg: cfg, disk: disk, arbiter: arbiter, granter: granter, out: outbox{self: cfg.Self},
		proposer: paxos.NewProposer(paxos.Config{Self: cfg.Self, Arbiter: downing.Arbiter, Beat: cfg.Beat, WaitMax: cfg.Promise}, rng),
	}
}

// Output returns what the calls since the last Output want done.
func (v *Voter) Output() Output { return v.out.take() }

// Install takes a view that was just installed: what belonged to the epoch before is over.
func (v *Voter) Install() {
	v.acceptor = paxos.Acceptor{}
	v.proposer.Reset()
}

// Frozen reports whether the acceptor has accepted a proposal (R2).
func (v *Voter) Frozen() bool { return v.acceptor.Frozen() }

// FrozenAt returns since when it is Frozen; zero = it is not.
func (v *Voter) FrozenAt() time.Time { return v.acceptor.FrozenAt() }

// Leads reports whether it is the turn of this node to propose: it is the oldest reachable voter
// that has neither said that it stopped nor been downed (V3). If all voters have stopped but
// learners have not, the oldest reachable voter still hands over to them.
func (v *Voter) Leads(s *Scene) bool {
	for _, o := range s.View.Voters {
		if s.Reachable(o.UID) && (!s.Reports.Stopped(o.UID) || v.cfg.StoppedProposes) && !s.Verdicts.On(o.UID) {
			return o.UID == v.cfg.Self
		}
	}
	for _, o := range s.View.Voters {
		if s.Reachable(o.UID) {
			return o.UID == v.cfg.Self
		}
	}
	return false
}

// Idle reports whether no ballot of this node is in progress.
func (v *Voter) Idle() bool { return v.proposer.Idle() }

// String prints the ballot of this node.
func (v *Voter) String() string { return v.proposer.String() }

// Check verifies the invariants. Tests call it after every step.
func (v *Voter) Check(in *view.Installed) error {
	a, p := &v.acceptor, v.proposer
	accepted, at := a.Accepted()
	if accepted != nil && (accepted.View.Epoch != in.Epoch+1 || accepted.View.Parent != in.Digest || a.Promised().Less(at)) {
		return fmt.Errorf("accepted %v is no child of the view", accepted)
	}
	if accepted != nil && !v.notesAccepted() {
		return errors.New("the accepted view is not on disk, nor one of a later ballot")
	}
	if p.Idle() {
		return nil
	}
	if b := p.Ballot(); b.UID != v.cfg.Self || b.Round > p.Round() {
		return fmt.Errorf("foreign ballot %v", b)
	}
	if p.Accepting() && (p.Value() == nil || p.Value().View.Parent != in.Digest) {
		return errors.New("a value in no chain is being decided")
	}
	return nil
}

// notesAccepted reports whether the disk has the view that was accepted, or one of a later ballot
// that took its place (storesPending).
func (v *Voter) notesAccepted() bool {
	a, p := &v.acceptor, v.disk.Pending()
	if a.Holds() {
		return p != nil
	}
	accepted, at := a.Accepted()
	return p != nil && v.disk.IsStored(a.Record()) && (p.Hash() == accepted.View.Hash() || at.Less(a.Noted()))
}
