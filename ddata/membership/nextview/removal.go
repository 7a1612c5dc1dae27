package nextview

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// keep returns the members that stay. delayed says that a removal is so near that a view without it
// would put it off: installing a view renews all promises (G3). Without delayed, a stream of
// joiners could keep a dead member in without end.
func (c *composer) keep(removalOf func(view.Member) removal) (kept []view.Member, delayed bool) {
	removals := c.removals(removalOf)
	later := c.leaveLater(removals)
	kept = make([]view.Member, 0, len(c.View.Members)+len(c.asking))
	for i, o := range c.View.Members {
		r := removals[i]
		switch {
		case r.due.IsZero() || later[o.UID]:
		case c.Now.Before(r.due):
			c.plan.DueAt(r.due)
			delayed = delayed || r.due.Sub(c.Now) < c.Promise
		default:
			c.plan.Changed = true
			if r.consented {
				c.plan.Proposal.Stopped = append(c.plan.Proposal.Stopped, o.UID)
			} else if o.Status != view.Joining {
				c.plan.WaitFor = append(c.plan.WaitFor, o.UID)
			}
			continue
		}
		kept = append(kept, o)
	}
	return kept, delayed
}

// leaveLater are the members that have stopped and must stay for another view. What a majority of a
// role has acknowledged survives a view if less than a majority of that role goes with it. The rest
// settle the view, and then the next ones go (V4). Of two with a role one may go, and the last one
// may. A downed or gone member is not waited for.
func (c *composer) leaveLater(removals []removal) map[view.UID]bool {
	var gone, leavers []view.Member
	for i, o := range c.View.Members {
		r := removals[i]
		switch {
		case r.due.IsZero() || c.Now.Before(r.due) || !o.Full():
		case r.consented && !c.Verdicts.On(o.UID) && (o.UID == c.Self || c.Reachable(o.UID)):
			leavers = append(leavers, o)
		default:
			gone = append(gone, o)
		}
	}
	if len(leavers) == 0 || len(leavers)+len(gone) == 1 {
		return nil
	}
	full := c.View.Full()
	later := make(map[view.UID]bool)
	for _, o := range leavers {
		if slices.ContainsFunc(append([]string{""}, o.Roles...), func(role string) bool {
			return withRole(gone, role) >= max(1, withRole(full, role)/2)
		}) {
			later[o.UID] = true
		} else {
			gone = append(gone, o)
		}
	}
	return later
}

// withRole counts the members with a role; all, if it is empty.
func withRole(members []view.Member, role string) (n int) {
	for _, o := range members {
		if role == "" || o.HasRole(role) {
			n++
		}
	}
	return n
}

// removal is the time and the way in which a member must be dropped.
type removal struct {
	due       time.Time // zero = never
	consented bool      // it has said that it stopped
	silent    bool      // because nothing is heard of it
}

// removals are those of the members of the view. A silent member waits for others that will be due
// within a heartbeat. Nodes that die together are missed up to that far apart. A view without the
// first of them would put off the others by renewing what they were promised (G3).
func (c *composer) removals(of func(view.Member) removal) []removal {
	all := make([]removal, len(c.View.Members))
	var first time.Time
	for i, o := range c.View.Members {
		r := of(o)
		if all[i] = r; r.silent && (first.IsZero() || r.due.Before(first)) {
			first = r.due
		}
	}
	last, until := first, first.Add(c.Beat)
	for _, r := range all {
		if r.silent && r.due.After(last) && !r.due.After(until) {
			last = r.due
		}
	}
	for i := range all {
		if r := &all[i]; r.silent && r.due.Before(last) {
			r.due = last
		}
	}
	return all
}

// removalDue returns when and why a member must be dropped, by what is known of it alone.
func (c *composer) removalDue(o view.Member) removal {
	stopped := c.Reports.Stopped(o.UID)
	if stopped && c.votesUntilLeaving(o) {
		return removal{}
	}
	if stopped && (o.Status == view.Joining || c.Reports.Settled(o.UID) >= c.View.Epoch ||
		c.Defects.Planted(defect.LeaveUnsettled)) {
		return removal{due: c.Now, consented: true}
	}
	if c.Verdicts.On(o.UID) {
		return removal{due: c.Now, consented: stopped}
	}
	silentSince := c.Reach.UnreachableSince(o.UID)
	switch {
	case silentSince.IsZero():
	case c.superseded(o):
		return removal{due: c.Now, consented: stopped}
	case c.Strategy.DropsUnreachable():
		due := silentSince.Add(c.StableAfter)
		if since := c.Reach.RefusedSince(o.UID); !since.IsZero() && c.crashesAgree() {
			due = earlier(due, since.Add(c.CrashAfter))
		}
		return removal{due: due, consented: stopped, silent: true}
	}
	return removal{}
}

// crashesAgree reports whether the picture is settled although members are missing: this node finds
// the processes of all of these ended, each other voter has lately said that it finds the same
// ended, and all others are heard.
func (c *composer) crashesAgree() bool {
	ended := c.Reach.Ended(c.View.Members)
	lately := c.Now.Add(-2 * c.Beat)
	for _, o := range c.View.Members {
		switch {
		case o.UID == c.Self || slices.Contains(ended, o.UID):
		case !c.Reachable(o.UID), c.View.Votes(o) && !slices.Equal(c.Reports.Crashed(o.UID, lately), ended):
			return false
		}
	}
	return true
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// votesUntilLeaving reports whether a member must be Leaving before it goes, so that another comes
// to vote for it. With few voters all that vote may have stopped while others stay. If they decided
// their own removal they would be gone before any other member knows of it, and no other could
// decide.
func (c *composer) votesUntilLeaving(o view.Member) bool {
	return c.View.Capped && o.Status == view.Up && c.View.IsVoter(o.UID) && !c.Verdicts.On(o.UID) &&
		(o.UID == c.Self || c.Reachable(o.UID))
}

// removalAfterStopped is removalDue while the others could not go on without the voters that have
// stopped: those stay. The dead go meanwhile, because a learner that should come up may be waiting
// for their answer.
func (c *composer) removalAfterStopped(o view.Member) removal {
	if o.Full() && c.Reports.Stopped(o.UID) && c.Reachable(o.UID) {
		return removal{}
	}
	return c.removalDue(o)
}

// superseded reports whether a new incarnation waits, at the member's address or with its disk.
func (c *composer) superseded(o view.Member) bool {
	return slices.ContainsFunc(c.asking, func(j joiners.Joiner) bool { return j.Member.Replaces(o) })
}
