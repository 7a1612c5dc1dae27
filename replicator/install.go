package replicator

import (
	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/replicator/push"
	"github.com/coterie-go/coterie/replicator/quorum"
	"github.com/coterie-go/coterie/replicator/repair"
)

// onInstall takes the next view. What is waiting goes on under it: joint with the older views while
// they are not settled.
func (m *Machine) onInstall(v View) {
	if v.Epoch == 0 || v.Epoch <= m.view.Epoch {
		m.stats.StaleViews++
		return
	}
	prev := m.view
	m.view = v.normal()
	m.voter = hasPeer(m.view.Voters, m.cfg.Self)
	was, wasOldest := m.member, m.oldest
	m.member = m.voter || hasPeer(m.view.Learners, m.cfg.Self)
	m.oldest = oldestOf(m.view)
	routes := m.installRoutes(prev)
	m.refreshPeers()
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
	for _, s := range m.spaces {
		if !was {
			m.expiry.prime(s)
		}
		s.forgetRemoved()
		s.installView(prev, m.view)
	}
	m.startFolding()
	m.installMove(routes, wasOldest)
	for _, s := range m.spaces {
		s.restartRounds()
		s.pushAll()
		s.puller.Forget(m.left)
	}
}

// refreshPeers keeps what is known of the peers that stay, and forgets the others.
func (m *Machine) refreshPeers() {
	old := m.peers
	m.peers = nil
	voters, learners := m.view.Voters, m.view.Learners
	for len(voters)+len(learners) > 0 {
		var p Peer
		voter := len(learners) == 0 || len(voters) > 0 && voters[0].ID < learners[0].ID
		if voter {
			p, voters = voters[0], voters[1:]
		} else {
			p, learners = learners[0], learners[1:]
		}
		if p.ID != m.cfg.Self {
			m.peers = append(m.peers, m.keepPeer(old, p, voter))
		}
	}
	for _, s := range m.spaces {
		s.owed = s.owed[:0]
		for _, p := range m.peers {
			p.link(s).owes = false
		}
	}
}

func (m *Machine) keepPeer(old []*peer, p Peer, voter bool) *peer {
	for _, o := range old {
		if o.id == p.ID {
			o.up, o.disk, o.voter = p.UpNumber, p.Disk, voter
			return o
		}
	}
	return newPeer(m, p, voter)
}

// becomeStranger ends a membership: this replica gives no answers and counts for nothing any more.
func (m *Machine) becomeStranger() {
	m.serves = false
	m.peers, m.donors = nil, repair.Donors{}
	m.dropOps(ErrNoView)
	m.move = move{}
	m.gossipAt, m.linkAt, m.tidyAt = zeroTime, zeroTime, zeroTime
	for _, s := range m.spaces {
		s.puller.Stop()
		s.waiting, s.wanted, s.learned = push.WaitList{}, crdt.Clock{}, false
		s.settlement = settlement{}
		s.expiring, s.confirmed = nil, false
		s.sets = quorum.Joint[*peer]{}
	}
}
