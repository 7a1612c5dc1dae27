package arbitration

import (
	"errors"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Config is what the configuration of a node says of the arbiter.
type Config struct {
	Self          view.UID         // this node
	Strategy      downing.Strategy // there is an arbiter if it is LeaseMajority
	Beat          time.Duration    // the time between heartbeats
	Promise       time.Duration    // for how long a promise runs
	SelfDownAfter time.Duration    // no second release in favour of a larger side before
	Defects       defect.Set       // planted by a test
}

// Scene is what a node knows at one moment. View is nil while it seeks.
type Scene struct {
	Now       time.Time
	View      *view.Installed
	Reports   *report.Table
	Verdicts  *downing.Verdicts
	Reach     *downing.Reach
	Reachable func(view.UID) bool // as Reach hears them, and this node itself
}

// Carrier is this node's part in carrying the vote of the arbiter.
//
//	away ──Acquire──► asking ──Acquired──► held ──release, Lost──► away
//	  ▲                 │ Denied             │ Save ─ ─ Saved: speak
//	  └─────────────────┘                    ▼
//
// Invariant: one Acquire or Save is out at a time (busy).
type Carrier struct {
	cfg      Config
	strategy downing.LeaseMajority
	on       bool // there is an arbiter
	out      Output

	held  bool
	since time.Time // when it was acquired
	until time.Time // the end of holding it, unless it is prolonged

	busy bool // an Acquire or a Save has not been answered
	vote
	attempt
}

// attempt is when a node tries for the lease, and gives it back.
type attempt struct {
	wantedAt time.Time  // since when no holder is known; zero = one is
	minority bool       // at the last look
	tryAt    time.Time  // no Acquire before
	yieldAt  time.Time  // no release in favour of a larger side before
	behind   view.Epoch // the arbiter has taken part in this one: no Acquire before it is known here
	failing  string     // what failed at last, so that it is told once
}

// Promise is the arbiter's answer to the first phase of a ballot.
type Promise struct {
	Cluster view.ClusterID
	Epoch   view.Epoch
	Ballot  paxos.Ballot
	Answer  paxos.Prepared
}

// New returns a Carrier that does not hold the lease.
func New(cfg Config) *Carrier {
	c := &Carrier{cfg: cfg}
	c.strategy, c.on = cfg.Strategy.(downing.LeaseMajority)
	return c
}

// Output returns what the calls since the last Output want done.
func (c *Carrier) Output() Output {
	out := c.out
	c.out = Output{}
	return out
}

// Since returns when this node acquired the lease that it holds, or held last.
func (c *Carrier) Since() time.Time { return c.since }

// Speaks reports whether this node may speak for the arbiter now.
func (c *Carrier) Speaks(now time.Time, v *view.Installed) bool {
	return c.held && now.Before(c.until) && c.counts(v, c.cfg.Self)
}

// Hears reports whether a node that speaks for the arbiter is reachable.
func (c *Carrier) Hears(s Scene) bool { return c.Speaks(s.Now, s.View) || c.hearsOther(s) }

// counts reports whether a member is one of the voters whose vote makes a quorum with the
// arbiter's.
func (c *Carrier) counts(v *view.Installed, u view.UID) bool {
	return c.on && slices.ContainsFunc(c.strategy.Counting(v.Voters), func(v view.Member) bool { return v.UID == u })
}

// hearsOther reports whether another node that speaks for the arbiter is reachable.
func (c *Carrier) hearsOther(s Scene) bool {
	return c.on && s.View != nil && slices.ContainsFunc(s.View.Members, func(o view.Member) bool {
		return o.UID != c.cfg.Self && s.Reports.Flags(o.UID)&report.Arbiter != 0 &&
			s.Reach.Hears(o.UID) && c.counts(s.View, o.UID)
	})
}

// Wait returns for how long a new holder accepts no view that drops a member that may hold a lease.
// What its predecessors granted in the arbiter's name was granted before it acquired (AR3).
func (c *Carrier) Wait(now time.Time, installed *view.Installed) time.Duration {
	if !c.Speaks(now, installed) || c.cfg.Defects.Planted(defect.NoArbiterWait) {
		return 0
	}
	return c.since.Add(c.cfg.Promise).Sub(now)
}

// Promise lets the arbiter answer a ballot's first phase as this node just did. Once it may have
// accepted something, it waits until that is certain.
func (c *Carrier) Promise(now time.Time, installed *view.Installed, p Promise) {
	if !c.Speaks(now, installed) || c.accepting {
		return
	}
	c.vote.promise(p)
	c.save()
}

// Accept lets the arbiter accept the view that this node just accepted, in an epoch and a ballot.
func (c *Carrier) Accept(now time.Time, installed *view.Installed, e view.Epoch, b paxos.Ballot, v *view.View) {
	if !c.Speaks(now, installed) || c.accepting {
		return
	}
	c.vote.accept(Record{Cluster: v.Cluster, Epoch: e, Promised: b, View: v})
	c.save()
}

func (c *Carrier) save() {
	if c.busy {
		c.again = true
		return
	}
	c.busy = true
	c.out.do(Op{Do: Save, Record: c.vote.send()})
}

// Install takes back what the arbiter would have said in the epoch whose view was replaced.
func (c *Carrier) Install() {
	c.vote.withdraw()
}

// Saved takes the answer to a Save; failure is empty if the record is durable. It returns what the
// arbiter has done, now that it is certain: the view that it has accepted, which is decided, or what
// it promised. The latter is said only while this node holds the lease, because it does not know
// what a successor promises.
func (c *Carrier) Saved(s Scene, failure string) (*view.View, *Promise) {
	c.busy = false
	switch {
	case failure != "":
		c.release()
		c.fails(s.Now, "save: "+failure)
		return nil, nil
	case c.again && c.held:
		c.save()
		return nil, nil
	}
	decided, answer := c.vote.take()
	switch {
	case s.View == nil:
	case decided != nil:
		return decided, nil
	case answer != nil && c.Speaks(s.Now, s.View) && answer.Epoch == s.View.Epoch:
		return nil, answer
	}
	return nil, nil
}

// Check verifies the invariants. Tests call it after every step.
func (c *Carrier) Check() error {
	switch {
	case c.again && !c.busy:
		return errors.New("a save of the arbiter's record is due, and none is out")
	case c.held && !c.on:
		return errors.New("the lease of an arbiter that is not there")
	}
	return nil
}
