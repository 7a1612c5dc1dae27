package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/repair"
)

// onInstall takes the next view. What is waiting goes on under it: joint with the older views while
// they are not settled.
func (m *Machine) onInstall(v View) {
	if v.Epoch == 0 || v.Epoch <= m.view.Epoch {
		m.stats.StaleViews++
		return
	}
	prev, was, wasOldest := m.view, m.member, m.oldest
	m.roster.install(v.normal(), m.newPeer)
	for _, s := range m.spaces {
		s.pusher.oweNone()
	}
	routes := m.installRoutes(prev)
	if !m.member {
		m.becomeStranger()
		return
	}
	if !was {
		prev = View{} // what was decided while this replica was outside is not known
		m.startLearning()
		m.maybeCaughtUp()
		m.gossipAt = m.now.Add(m.cfg.GossipInterval)
	}
	m.showLiving(membersOf(m.view)...)
	m.tidying.folding.census.forget()
	m.spaces[keyspace.Volatile].intake.forgetRemoved()
	for _, s := range m.spaces {
		if !was {
			m.tidying.expiry.prime(s.replica)
		}
		s.settlement.follow(prev, m.view)
	}
	m.tidying.folding.start()
	m.installMove(routes, wasOldest)
	for _, s := range m.spaces {
		s.restart()
		s.pusher.pushAll()
		s.repairs.puller.Forget(m.left)
	}
}

// newPeer begins to keep what is known of a member that has come.
func (m *Machine) newPeer(p Peer) *peer {
	n := &peer{id: p.ID, reachable: true}
	for i, s := range m.spaces {
		n.links[i] = link{content: &crdt.Clock{}, acked: &crdt.Clock{}, window: push.NewWindow(s.rep.Seq())}
	}
	return n
}

// becomeStranger ends a membership: this replica gives no answers and counts for nothing any more.
func (m *Machine) becomeStranger() {
	m.roster.leave()
	m.donating.donors = repair.Donors{}
	m.dropOps(ErrNoView)
	m.move.end()
	m.move.leftover, m.move.clearAt = false, ""
	m.gossipAt, m.linkAt = zeroTime, zeroTime
	m.tidying.leave()
	for _, s := range m.spaces {
		s.leave()
	}
}

// showLiving hides what belongs to members that are not in the view, and shows what belongs to
// members that have come.
func (m *Machine) showLiving(ids ...crdt.Origin) {
	l := crdt.NewLiving(ids...)
	for _, s := range m.spaces {
		s.rep.SetLiving(l, &s.ch)
		m.subs.touch(s.replica)
		m.eff.Changed = m.eff.Changed || len(s.ch.Keys) > 0
		s.ch.Reset()
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
	if m.view.Founded && m.voter || len(m.view.Voters) == 0 || m.cfg.Defects.JoinWithoutCatchUp {
		for _, s := range m.spaces {
			s.reads.skipLearning()
		}
		return
	}
	for _, s := range m.spaces {
		s.reads.learn()
	}
}

// maybeCaughtUp makes a learner serve.
func (m *Machine) maybeCaughtUp() {
	if m.serves || !m.member {
		return
	}
	for _, s := range m.spaces {
		if !s.reads.learned {
			return
		}
	}
	m.becomeCaughtUp()
	m.eff.CaughtUp = true
	for _, s := range m.spaces {
		s.pusher.oweAcked()
		s.settlement.settle()
	}
}
