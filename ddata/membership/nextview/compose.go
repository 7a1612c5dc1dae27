package nextview

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/runloop/timer"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Config is what the configuration of a node says of the next view.
type Config struct {
	Self        view.UID                         // this node
	Strategy    downing.Strategy                 // which voters may decide
	Enough      func(members []view.Member) bool // whether the first members may come up
	Beat        time.Duration                    // the time between heartbeats
	StableAfter time.Duration                    // for how long a member is unreachable before it is dropped
	CrashAfter  time.Duration                    // and one that all voters find ended
	Promise     time.Duration                    // for how long a promise runs
	RetireAfter int                              // how many incarnations come between two retirements
	Defects     defect.Set                       // planted by a test
}

// Scene is what a node knows at one moment.
type Scene struct {
	Now       time.Time
	View      *view.Installed
	Settled   view.Epoch              // the newest one that is settled in every role
	Closing   bool                    // the whole cluster is to shut down
	Idle      bool                    // no ballot is in progress
	Joiners   func() []joiners.Joiner // returns those that have asked lately, by uid; called once, by Compose
	Reports   *report.Table
	Verdicts  *downing.Verdicts
	Reach     *downing.Reach
	Reachable func(view.UID) bool // as Reach hears them, and this node itself
}

// Plan is the next view as a node would have it.
type Plan struct {
	Proposal   *paxos.Proposal
	Changed    bool       // it differs from the installed view
	WaitFor    []view.UID // dropped members whose leases must run out first
	Admits     bool       // the joiners were looked at; those that have not asked lately can be forgotten
	timer.Next            // when to compose again at the latest
}

// composer composes one Plan.
type composer struct {
	Config
	Scene
	asking []joiners.Joiner
	plan   Plan
}

// Compose composes the next view from what a node knows: removals that are due, joiners, members
// that may become Up or Leaving. All in one decision.
func Compose(cfg Config, s Scene) Plan {
	c := &composer{Config: cfg, Scene: s, asking: s.Joiners()}
	next := s.View.Next(s.View.Digest)
	next.Closing = s.View.Closing || s.Closing
	c.begin(next)
	kept, delayed := c.keep(c.removalDue)
	if !c.canGoOn(kept) {
		c.begin(next)
		kept, delayed = c.keep(c.removalAfterStopped)
	}
	if !slices.ContainsFunc(kept, view.Member.Full) {
		c.begin(next)
		kept = slices.Clone(s.View.Members)
	}
	next.Members = kept
	if c.plan.Changed || !delayed && !c.gathers() {
		c.endMove()
		c.endRetirement()
		c.admit()
		c.promote()
		c.enlist()
		c.raiseFormat()
		c.beginRetirement()
	}
	if c.plan.Changed {
		next.Inherit(s.unsettled())
	}
	slices.Sort(c.plan.Proposal.Stopped)
	return c.plan
}

// Repeat changes nothing but the epoch. It ends a freeze of which no quorum remembers the proposal.
func Repeat(s Scene) *paxos.Proposal {
	next := s.View.Next(s.View.Digest)
	next.Members = slices.Clone(s.View.Members)
	next.Inherit(s.unsettled())
	return &paxos.Proposal{View: next}
}

// begin begins the plan anew. When something is due stays.
func (c *composer) begin(next *view.View) {
	c.plan = Plan{Proposal: &paxos.Proposal{View: next}, Changed: next.Closing != c.View.Closing, Next: c.plan.Next}
}

// next is the view that is composed.
func (c *composer) next() *view.View { return c.plan.Proposal.View }

// canGoOn reports whether the voters among the members that are heard could decide the view after
// the next. A leaving member stays until they can: the dead go first, or a learner comes up.
func (c *composer) canGoOn(members []view.Member) bool {
	next := view.View{Members: members, VotersMax: c.View.VotersMax}
	return c.Strategy.Quorum(next.Voters(), c.Reachable)
}

// unsettled returns the witnesses of the installed view that the next one has to remember.
func (s *Scene) unsettled() []view.DiskSet { return view.SetsSince(s.View.Witnesses(), s.Settled) }
