package nextview

import (
	"cmp"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/report"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
)

// gathers reports whether a view that would only let a node in or up waits for a moment, because
// others are on their way that the same decision can take. What a view costs grows with the
// cluster, and not with how many it takes in: hundreds that start together come in by a few views.
func (c *composer) gathers() bool {
	until := c.View.At.Add(c.Beat / 4)
	if !c.Idle || !c.Now.Before(until) || !c.awaitsSome() {
		return false
	}
	c.plan.DueAt(until)
	return true
}

// awaitsSome reports whether a joiner has yet to hear of this view, or a learner to catch up.
func (c *composer) awaitsSome() bool {
	for _, j := range c.asking {
		if !c.View.Closing && j.Heard < c.View.Epoch && !c.View.Has(j.Member.UID) {
			return true
		}
	}
	return slices.ContainsFunc(c.View.Members, func(o view.Member) bool {
		return !o.Full() && c.Reachable(o.UID) && c.Reports.Flags(o.UID)&(report.CaughtUp|report.Stopped) == 0
	})
}

// endMove lets the keys that move be durable when all members that stay have done their part.
func (c *composer) endMove() {
	next := c.next()
	waits := func(o view.Member) bool {
		return c.Reports.Moved(o.UID) != next.Moves && !c.Defects.Planted(defect.DurableUnmoved)
	}
	if len(next.Moving) == 0 || slices.ContainsFunc(next.Members, waits) {
		return
	}
	next.Durable, next.Moving = view.MergePatterns(next.Durable, next.Moving), nil
	c.plan.Changed = true
}

// raiseFormat lets the format level rise to the highest that all members speak. Those that the view
// drops are not asked: they hear of it by a view without them, or not at all. It never falls, because
// no node is let in that does not speak it.
func (c *composer) raiseFormat() {
	next := c.next()
	spoken := view.Spoken(next.Members)
	if c.Defects.Planted(defect.FormatUnasked) {
		for _, o := range next.Members {
			spoken = max(spoken, o.Formats.Max)
		}
	}
	if spoken > next.Format {
		next.Format, c.plan.Changed = spoken, true
	}
}

// admit adds the nodes that ask to join, as learners. One address is one member, and so is one
// disk. A node that asks while the cluster shuts down waits until it is gone, and founds it anew.
// If the node were let in, it would keep the old one, and all that has stopped there, alive.
func (c *composer) admit() {
	next := c.next()
	c.plan.Admits = true
	if len(c.asking) == 0 { // there is nothing to look at
		return
	}
	taken, held := make(map[string]bool, len(next.Members)), make(map[view.DiskID]bool, len(next.Members))
	take := func(o view.Member) { taken[o.Addr], held[o.Disk] = true, o.Disk != 0 }
	for _, o := range next.Members {
		take(o)
	}
	used, _ := view.RoomFor(next.Members)
	for _, j := range c.asking {
		if next.Closing || j.Heard < c.View.Epoch || taken[j.Member.Addr] || held[j.Member.Disk] ||
			c.View.Has(j.Member.UID) || next.Ages.Refuses(j.Member.UID) != "" {
			continue
		}
		// it waits for a move, or was refused, or will be
		if !j.Member.Formats.Contains(next.Format) || !next.TakesPatterns(j.Durable, c.View.View) ||
			used.Add(j.Member) != "" {
			continue
		}
		next.BeginMove(j.Durable, c.View.View)
		take(j.Member)
		next.Members = append(next.Members, j.Member)
		c.plan.Changed = true
	}
	next.Sort()
}

// promote moves members on: Joining to Up when caught up and MinMembers is reached, Up to Leaving
// when they ask. Founders need not have caught up: there is no member from which they could. One
// that asks to leave while it is Joining, and has not stopped, comes up before it leaves: it waits
// for that to hand over what it has.
func (c *composer) promote() {
	next := c.next()
	open := c.View.Open() || c.Enough(next.Members)
	for i := range next.Members {
		o := &next.Members[i]
		if !c.View.Has(o.UID) {
			continue
		}
		f := c.Reports.Flags(o.UID)
		switch {
		case o.Status == view.Joining && open && c.Reachable(o.UID) && f&report.Stopped == 0 &&
			(o.Full() || (f&report.CaughtUp != 0 || c.Defects.Planted(defect.UpUnasked)) && c.roomForVoters()):
			o.Status = view.Up
			if o.UpNumber == 0 {
				next.LastUp++
				o.UpNumber = next.LastUp
			}
			c.plan.Changed = true
		case o.Status == view.Up && f&(report.Leaving|report.Stopped) != 0:
			o.Status = view.Leaving
			if c.View.Capped && !c.canGoOn(next.Members) { // the members that would come to vote for it are not heard
				o.Status = view.Up
				continue
			}
			c.plan.Changed = true
		}
	}
}

// enlist lets members that offer services into the lines of these.
func (c *composer) enlist() {
	next := c.next()
	if !next.Enlist(c.Reports.Offers) {
		return
	}
	c.plan.Changed = true
	if c.Defects.Planted(defect.OldestFirst) {
		age := func(u view.UID) uint32 { m, _ := next.Member(u); return m.UpNumber }
		for i, l := range next.Lines {
			next.Lines[i].Members = slices.SortedFunc(slices.Values(l.Members),
				func(a, b view.UID) int { return cmp.Compare(age(a), age(b)) })
		}
	}
}

// roomForVoters reports whether there is room for another voter, which is another set of disks to
// remember. What is left of the room is for removals, which cannot wait.
func (c *composer) roomForVoters() bool {
	return view.RoomForSets(view.SetsSince(c.View.Unsettled, c.Settled))
}
