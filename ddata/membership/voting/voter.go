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
	"github.com/coterie-go/coterie/proptest/defect"
)

// Config is what the configuration of a node says of voting.
type Config struct {
	nextview.Config
	LeaseDuration time.Duration // L
}

// Voter is one member's part in deciding the next view.
//
// Invariant: what the acceptor and the proposer hold belongs to the epoch of the installed view.
type Voter struct {
	cfg      Config
	acceptor acceptance
	proposer *paxos.Proposer
	out      outbox
}

// New returns a Voter that has promised nothing. The granter is that of the same node.
func New(cfg Config, rng *rand.Rand, disk Disk, arbiter *arbitration.Carrier, granter *Granter) *Voter {
	return &Voter{
		cfg: cfg, out: outbox{self: cfg.Self}, acceptor: acceptance{
			self: cfg.Self, disk: disk, arbiter: arbiter, granter: granter,
		},
		proposer: paxos.NewProposer(paxos.Config{
			Self: cfg.Self, Arbiter: downing.Arbiter, Beat: cfg.Beat, WaitMax: cfg.Promise,
		}, rng),
	}
}

// Output returns what the calls since the last Output want done.
func (v *Voter) Output() Output { return v.out.take() }

// Install takes a view that was just installed: what belonged to the epoch before is over.
func (v *Voter) Install() {
	v.acceptor.Acceptor = paxos.Acceptor{}
	v.proposer.Reset()
}

// Frozen reports whether the acceptor has accepted a proposal (G2).
func (v *Voter) Frozen() bool { return v.acceptor.Frozen() }

// FrozenAt returns since when it is Frozen; zero = it is not.
func (v *Voter) FrozenAt() time.Time { return v.acceptor.FrozenAt() }

// Leads reports whether it is the turn of this node to propose: it is the oldest reachable voter
// that has neither said that it stopped nor been downed (V3). If all voters have stopped but
// learners have not, the oldest reachable voter still hands over to them.
func (v *Voter) Leads(s *Scene) bool {
	for _, o := range s.View.Voters {
		stopped := s.Reports.Stopped(o.UID) && !v.cfg.Defects.Planted(defect.StoppedProposes)
		if s.Reachable(o.UID) && !stopped && !s.Verdicts.On(o.UID) {
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
	p := v.proposer
	if err := v.acceptor.check(in); err != nil || p.Idle() {
		return err
	}
	if b := p.Ballot(); b.UID != v.cfg.Self || b.Round > p.Round() {
		return fmt.Errorf("foreign ballot %v", b)
	}
	if p.Accepting() && (p.Value() == nil || p.Value().View.Parent != in.Digest) {
		return errors.New("a value in no chain is being decided")
	}
	return nil
}
