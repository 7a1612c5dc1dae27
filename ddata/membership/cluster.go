package membership

import (
	"errors"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// cluster is what this node knows of its cluster: the installed view, what the members say of
// themselves, this node included, and which of them it hears.
//
// Invariant: reports, reach, downs and settlement are those of the members of view.
type cluster struct {
	uid        view.UID
	asked      view.Member     // this node as it asks to be listed
	view       *view.Installed // nil before the first one
	self       report.Own
	reports    *report.Table
	reach      *downing.Reach
	downs      downing.Verdicts
	settlement *view.Settlement
	checked    checked
}

// newCluster returns what a node knows that is in no cluster.
func newCluster(cfg *Config) *cluster {
	c := &cluster{
		uid: cfg.UID, asked: cfg.self(), reach: downing.NewReach(cfg.UnreachableAfter, cfg.HeartbeatInterval),
	}
	c.reports = report.NewTable(cfg.UID, &c.self)
	return c
}

// install takes the next view. What is known of a member stays known.
func (c *cluster) install(now time.Time, v *view.View) {
	c.view = view.Install(v, now)
	c.reports.Follow(v)
	// heartbeats pass between any two members, except two that do not vote
	all := !c.view.Capped || c.view.IsVoter(c.uid)
	c.reach.Follow(now, c.uid, v, func(o view.Member) bool { return all || c.view.Votes(o) })
	c.downs.Follow(v)
	c.settlement = view.Settle(v, c.reports.Settled)
}

// installed is the view; nil before the first one.
func (c *cluster) installed() *view.View {
	if c.view == nil {
		return nil
	}
	return c.view.View
}

// me is this node as its view lists it; before the first view, as it asks to be listed.
func (c *cluster) me() view.Member {
	if c.view != nil {
		if me, ok := c.view.Member(c.uid); ok {
			return me
		}
	}
	return c.asked
}

// hears reports whether this node hears the member. It always hears itself.
func (c *cluster) hears(u view.UID) bool { return u == c.uid || c.reach.Hears(u) }

// addr returns the address of the sender: that of the view if it is a member.
func (c *cluster) addr(r Receive) string {
	if c.view != nil {
		if o, ok := c.view.Member(r.From); ok {
			return o.Addr
		}
	}
	return r.FromAddr
}

// mayGo reports whether nothing runs here under a lease, now or later: the node may be dropped, and
// end.
func (c *cluster) mayGo() bool { return c.self.Has(report.Stopped) }

// goneAs is how a node that has stopped ends.
func (c *cluster) goneAs() error {
	if c.downs.On(c.uid) {
		return &DownedError{Cause: "an operator has downed it", ByOperator: true}
	}
	return ErrLeft
}

// down notes an operator's verdict on a member, and reports whether it is news. From now on the
// member is granted nothing. A node that learns of its own verdict stops.
func (c *cluster) down(u view.UID) bool {
	if c.downs.On(u) || !c.view.Has(u) {
		return false
	}
	c.downs.Say(u)
	if u == c.uid {
		c.self.Stop()
	}
	return true
}

// allClose reports whether a view that is Closing has been told to the layers of this node, and of
// all members that it reaches.
func (c *cluster) allClose() bool {
	return c.self.ToldClosing() && !slices.ContainsFunc(c.view.Members, c.asksIfCloses)
}

// asksIfCloses reports whether this node was asked to close the cluster and does not know whether
// the member has heard of it. Its grants tell.
func (c *cluster) asksIfCloses(o view.Member) bool {
	return o.UID != c.uid && c.self.AskedToClose() && c.view.Closing && c.hears(o.UID) && !c.reports.Closes(o.UID)
}

// checked is what check has found right. Most of it depends on the installed view, which does not change.
type checked struct {
	view *view.Installed // at the last check
	n    int             // checks until now
}

// wholeEvery is how many checks there are to one that looks at everything.
const wholeEvery = 64

// check verifies the invariants. It looks at everything when a view was installed since the last check.
// Something that must not write to a view, or to the reports of its members, would show in nothing else:
// so every wholeEvery-th check looks at everything too, as does the last one of a view.
func (c *cluster) check() error {
	v, was := c.view, c.checked.view
	c.checked.view = v
	c.checked.n++
	news := was != v
	if !news && c.checked.n%wholeEvery != 0 {
		return c.downs.Check(v.View)
	}
	errs := []error{v.Check(), c.downs.Check(v.View), c.reports.Check(v.View), c.reach.Check(c.uid, v.View)}
	if news {
		errs = append(errs, v.CheckNew(c.uid))
	}
	if news && was != nil {
		errs = append(errs, was.Check())
	}
	return errors.Join(errs...)
}
