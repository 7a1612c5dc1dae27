package replicator

import (
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/operation"
	"github.com/coterie-go/coterie/replicator/repair"
	"github.com/coterie-go/coterie/replicator/replica"
)

// onInstall takes the next view. What is waiting goes on under it: joint with the older views while
// they are not settled.
func (m *Machine) onInstall(v replica.View) {
	if v.Epoch == 0 || v.Epoch <= m.site.View.Epoch {
		m.site.Counters.StaleViews++
		return
	}
	prev, was, wasOldest := m.site.View, m.site.Member, m.site.Oldest
	m.site.Roster.Install(v.Normal(), [keyspace.Count]uint64{
		m.spaces[keyspace.Volatile].Items.Seq(), m.spaces[keyspace.Durable].Items.Seq(),
	})
	for _, s := range m.spaces {
		s.pusher.OweNone()
	}
	routes := m.installRoutes(prev)
	if !m.site.Member {
		m.becomeStranger()
		return
	}
	if !was {
		prev = replica.View{} // what was decided while this replica was outside is not known
		m.startLearning()
		m.maybeCaughtUp()
		m.gossip.arm()
	}
	m.showLiving(m.site.View.MemberIDs()...)
	for _, s := range m.spaces {
		s.intake.ForgetRemoved()
		if !was {
			m.tidying.expiry.prime(s.Replica)
		}
		s.settlement.Follow(prev, m.site.View)
	}
	given := m.retiring.install(prev)
	m.tidying.folding.start()
	m.tidying.closed.start(given)
	m.move.install(routes != nil, wasOldest)
	if routes != nil {
		m.tidying.expiry.prime(m.spaces[keyspace.Durable].Replica) // of what its disk held, nothing was counted
		m.subs.moved(routes)
	}
	for _, s := range m.spaces {
		s.restart()
		s.pusher.PushAll()
		s.repairs.forget(m.site.Left)
	}
}

// becomeStranger ends a membership: this replica gives no answers and counts for nothing any more.
func (m *Machine) becomeStranger() {
	m.site.Roster.Leave()
	m.donating.donors = repair.Donors{}
	m.dropOps(operation.ErrNoView)
	m.move.end()
	m.move.leftover, m.move.clearAt = false, ""
	m.gossip.leave()
	m.site.LinkAt = time.Time{}
	m.tidying.leave()
	m.retiring.leave()
	for _, s := range m.spaces {
		s.leave()
	}
}

// showLiving hides what belongs to members that are not in the view, and shows what belongs to
// members that have come.
func (m *Machine) showLiving(ids ...crdt.Origin) {
	l := crdt.NewLiving(ids...)
	for _, s := range m.spaces {
		s.Items.SetLiving(l, &s.Changes)
		m.subs.Touch(s.Replica)
		m.site.Eff.Changed = m.site.Eff.Changed || len(s.Changes.Keys) > 0
		s.Changes.Reset()
	}
}

// A learner is a replica that has come to a running cluster: its store may lack what a majority has
// acknowledged. It asks the voters for their clocks. It has caught up when it contains what a
// majority of each quorum told after the first view came. Where that counts, it must contain this
// on disk. Until then it refuses updates, because its removes would have observed nothing (R11). It
// also neither donates nor acks (R4). There is one exception, in the durable space after a cold
// start: a disk that has to be heard is heard, because perhaps no other disk has what it brings.

// startLearning begins to catch up, unless there is nothing to catch up with.
func (m *Machine) startLearning() {
	if m.site.View.Founded && m.site.Voter || len(m.site.View.Voters) == 0 ||
		m.site.Cfg.Planted(defect.JoinWithoutCatchUp) {
		for _, s := range m.spaces {
			s.reads.SkipLearning()
		}
		return
	}
	for _, s := range m.spaces {
		s.reads.Learn()
	}
}

// maybeCaughtUp makes a learner serve.
func (m *Machine) maybeCaughtUp() {
	if m.site.Serves || !m.site.Member {
		return
	}
	for _, s := range m.spaces {
		if !s.reads.Taught() {
			return
		}
	}
	m.site.BecomeCaughtUp()
	m.site.Eff.CaughtUp = true
	for _, s := range m.spaces {
		s.pusher.OweAcked()
		s.settlement.Settle()
	}
}
