package membership

import (
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/joiners"
	"github.com/coterie-go/coterie/ddata/membership/paxos"
	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// candidate is the next view as this node would have it.
type candidate struct {
	proposal *paxos.Proposal
	changed  bool  // it differs from the installed view
	waitFor  []UID // dropped members whose leases must run out first
}

// candidate composes the next view from what this node knows: removals that are due, joiners,
// members that may become Up or Leaving. All in one decision.
func (m *Machine) candidate() candidate {
	next := m.view.Next(m.view.Digest)
	next.Closing = m.view.Closing || m.self.Has(report.Closing)
	fresh := func() candidate {
		return candidate{proposal: &paxos.Proposal{View: next}, changed: next.Closing != m.view.Closing}
	}
	c := fresh()
	kept, delayed := m.keep(&c, m.removalDue)
	if !m.canGoOn(kept) {
		c = fresh()
		kept, delayed = m.keep(&c, m.removalAfterStopped)
	}
	if !slices.ContainsFunc(kept, Member.Full) {
		c = fresh()
		kept = slices.Clone(m.view.Members)
	}
	next.Members = kept
	if c.changed || !delayed && !m.gathers() {
		m.endMove(&c)
		m.admit(&c)
		m.promote(&c)
	}
	if c.changed {
		c.proposal.View.Inherit(m.unsettled())
	}
	slices.Sort(c.proposal.Stopped)
	return c
}

// gathers reports whether a view that would only let a node in or up waits for a moment, because
// others are on their way that the same decision can take. What a view costs grows with the
// cluster, and not with how many it takes in: hundreds that start together come in by a few views.
func (m *Machine) gathers() bool {
	until := m.view.At.Add(m.cfg.HeartbeatInterval / 4)
	if !m.proposer.Idle() || !m.now.Before(until) || !m.awaitsSome() {
		return false
	}
	m.dueAt(until)
	return true
}

// awaitsSome reports whether a joiner has yet to hear of this view, or a learner to catch up.
func (m *Machine) awaitsSome() bool {
	for _, j := range m.joiners.Asking(m.now) {
		if !m.view.Closing && j.Heard < m.view.Epoch && !m.view.Has(j.Member.UID) {
			return true
		}
	}
	return slices.ContainsFunc(m.view.Members, func(o Member) bool {
		return !o.Full() && m.Reachable(o.UID) && m.reports.Flags(o.UID)&(report.CaughtUp|report.Stopped) == 0
	})
}

// canGoOn reports whether the voters among the members that are heard could decide the view after
// the next. A leaving member stays until they can: the dead go first, or a learner comes up.
func (m *Machine) canGoOn(members []Member) bool {
	next := View{Members: members, VotersMax: m.view.VotersMax}
	return m.cfg.Strategy.Quorum(next.Voters(), m.Reachable)
}

// sameAgain is a candidate that changes nothing but the epoch. It ends a freeze of which no quorum
// remembers the proposal.
func (m *Machine) sameAgain() candidate {
	next := m.view.Next(m.view.Digest)
	next.Members = slices.Clone(m.view.Members)
	next.Inherit(m.unsettled())
	return candidate{proposal: &paxos.Proposal{View: next}}
}

// keep returns the members that stay. delayed says that a removal is so near that a view without it
// would put it off: installing a view renews all promises (R3). Without delayed, a stream of
// joiners could keep a dead member in without end.
func (m *Machine) keep(c *candidate, removalOf func(Member) removal) (kept []Member, delayed bool) {
	removals := m.removals(removalOf)
	later := m.leaveLater(removals)
	for i, o := range m.view.Members {
		r := removals[i]
		switch {
		case r.due.IsZero() || later[o.UID]:
		case m.now.Before(r.due):
			m.dueAt(r.due)
			delayed = delayed || r.due.Sub(m.now) < m.cfg.promise()
		default:
			c.changed = true
			if r.consented {
				c.proposal.Stopped = append(c.proposal.Stopped, o.UID)
			} else if o.Status != Joining {
				c.waitFor = append(c.waitFor, o.UID)
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
func (m *Machine) leaveLater(removals []removal) map[UID]bool {
	var gone, leavers []Member
	for i, o := range m.view.Members {
		r := removals[i]
		switch {
		case r.due.IsZero() || m.now.Before(r.due) || !o.Full():
		case r.consented && !m.downs.On(o.UID) && (o.UID == m.cfg.UID || m.Reachable(o.UID)):
			leavers = append(leavers, o)
		default:
			gone = append(gone, o)
		}
	}
	if len(leavers) == 0 || len(leavers)+len(gone) == 1 {
		return nil
	}
	full := m.view.Full()
	later := make(map[UID]bool)
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
func withRole(members []Member, role string) (n int) {
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
// first of them would put off the others by renewing what they were promised (R3).
func (m *Machine) removals(of func(Member) removal) []removal {
	all := make([]removal, len(m.view.Members))
	var first time.Time
	for i, o := range m.view.Members {
		r := of(o)
		if all[i] = r; r.silent && (first.IsZero() || r.due.Before(first)) {
			first = r.due
		}
	}
	last, until := first, first.Add(m.cfg.HeartbeatInterval)
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
func (m *Machine) removalDue(o Member) removal {
	stopped := m.reports.Stopped(o.UID)
	if stopped && m.votesUntilLeaving(o) {
		return removal{}
	}
	if o.Status == Joining && m.reports.Flags(o.UID)&report.Leaving != 0 {
		return removal{due: m.now, consented: true} // it runs nothing, and will not come up
	}
	if stopped && (o.Status == Joining || m.reports.Settled(o.UID) >= m.view.Epoch || m.cfg.Defects.LeaveUnsettled) {
		return removal{due: m.now, consented: true}
	}
	if m.downs.On(o.UID) {
		return removal{due: m.now, consented: stopped}
	}
	silentSince := m.reach.UnreachableSince(o.UID)
	switch {
	case silentSince.IsZero():
	case m.superseded(o):
		return removal{due: m.now, consented: stopped}
	case m.cfg.Strategy.DropsUnreachable():
		return removal{due: silentSince.Add(m.cfg.StableAfter), consented: stopped, silent: true}
	}
	return removal{}
}

// votesUntilLeaving reports whether a member must be Leaving before it goes, so that another comes
// to vote for it. With few voters all that vote may have stopped while others stay. If they decided
// their own removal they would be gone before any other member knows of it, and no other could
// decide.
func (m *Machine) votesUntilLeaving(o Member) bool {
	return m.view.Capped && o.Status == Up && m.view.IsVoter(o.UID) && !m.downs.On(o.UID) && (o.UID == m.cfg.UID || m.Reachable(o.UID))
}

// removalAfterStopped is removalDue while the others could not go on without the voters that have
// stopped: those stay. The dead go meanwhile, because a learner that should come up may be waiting
// for their answer.
func (m *Machine) removalAfterStopped(o Member) removal {
	if o.Full() && m.reports.Stopped(o.UID) && m.Reachable(o.UID) {
		return removal{}
	}
	return m.removalDue(o)
}

// superseded reports whether a new incarnation waits, at the member's address or with its disk.
func (m *Machine) superseded(o Member) bool {
	return slices.ContainsFunc(m.joiners.Asking(m.now), func(j joiners.Joiner) bool { return j.Member.Replaces(o) })
}

// admit adds the nodes that ask to join, as learners. One address is one member, and so is one
// disk. A node that asks while the cluster shuts down waits until it is gone, and founds it anew.
// If the node were let in, it would keep the old one, and all that has stopped there, alive.
func (m *Machine) admit(c *candidate) {
	next := c.proposal.View
	taken, held := make(map[string]bool, len(next.Members)), make(map[DiskID]bool, len(next.Members))
	take := func(o Member) { taken[o.Addr], held[o.Disk] = true, o.Disk != 0 }
	for _, o := range next.Members {
		take(o)
	}
	used, _ := view.RoomFor(next.Members)
	m.joiners.ForgetLate(m.now)
	for _, j := range m.joiners.Remembered() {
		if next.Closing || j.Heard < m.view.Epoch || taken[j.Member.Addr] || held[j.Member.Disk] || m.view.Has(j.Member.UID) {
			continue
		}
		if !next.TakesPatterns(j.Durable, m.view.View) || used.Add(j.Member) != "" { // it waits for a move, or was refused, or will be
			continue
		}
		next.BeginMove(j.Durable, m.view.View)
		take(j.Member)
		next.Members = append(next.Members, j.Member)
		c.changed = true
	}
	next.Sort()
}

// promote moves members on: Joining to Up when caught up and MinMembers is reached, Up to Leaving
// when they ask. Founders need not have caught up: there is no member from which they could.
func (m *Machine) promote(c *candidate) {
	next := c.proposal.View
	open := m.view.Open() || m.cfg.enough(next.Members)
	for i := range next.Members {
		o := &next.Members[i]
		if !m.view.Has(o.UID) {
			continue
		}
		f := m.reports.Flags(o.UID)
		switch {
		case o.Status == Joining && open && m.Reachable(o.UID) && f&(report.Stopped|report.Leaving) == 0 && (o.Full() || (f&report.CaughtUp != 0 || m.cfg.Defects.UpUnasked) && m.roomForVoters()):
			o.Status = Up
			if o.UpNumber == 0 {
				next.LastUp++
				o.UpNumber = next.LastUp
			}
			c.changed = true
		case o.Status == Up && f&(report.Leaving|report.Stopped) != 0:
			o.Status = Leaving
			if m.view.Capped && !m.canGoOn(next.Members) { // the members that would come to vote for it are not heard
				o.Status = Up
				continue
			}
			c.changed = true
		}
	}
}

// roomForVoters: another voter is another set of disks to remember. What is left of the room is for
// removals, which cannot wait.
func (m *Machine) roomForVoters() bool {
	sets := view.SetsSince(m.view.Unsettled, m.settled())
	return view.RoomForSets(sets)
}
