package membership

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/message"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// advanceReach tells which members fell silent, and which are heard again.
func (m *Machine) advanceReach() {
	changes, again := m.reach.Look(m.now, m.view.Members)
	for _, c := range changes {
		if c.Reachable {
			m.fx.event(MemberReachable{c.Member})
		} else {
			m.fx.event(MemberUnreachable{c.Member})
		}
	}
	m.dueAt(again)
}

// onHint takes memberlist's word for what it is: a candidate to ask, or a reason to doubt.
func (m *Machine) onHint(h Hint) {
	if m.view == nil {
		if h.Alive {
			m.seeker.Hint(m.now, h.Addr)
			m.takeSeeker()
		}
		return
	}
	if h.Alive {
		// One that seeks probes anyhow, and one that is in another cluster learns that there are two.
		if h.UID != 0 && h.UID != m.cfg.UID && !m.view.Has(h.UID) {
			m.fx.send(h.UID, h.Addr, message.Fetch{Cluster: m.view.Cluster})
		}
		return
	}
	for _, o := range m.view.Members {
		if o.UID == m.cfg.UID || o.UID != h.UID && (h.UID != 0 || o.Addr != h.Addr) {
			continue
		}
		if m.cfg.Defects.DeadMeansRemoved {
			m.removeByHint(o.UID)
			return
		}
		m.reach.Suspect(o.UID, m.now)
		m.fx.send(o.UID, m.view.Addr(o.UID), m.heartbeat())
		m.wake = true
	}
}

// removeByHint is the planted defect DeadMeansRemoved: what a cluster that trusts its failure
// detector would do.
func (m *Machine) removeByHint(u view.UID) {
	next := m.view.Next(m.view.Digest)
	next.Members = nil
	for _, o := range m.view.Members {
		if o.UID != u {
			next.Members = append(next.Members, o)
		}
	}
	if next.Check() == nil {
		m.fx.announce(m.cfg.UID, m.view, next)
		m.install(next)
	}
}

// otherClusterPause is how long nothing more is said of another cluster of the same name. Two that
// were founded beside each other by mistake, nothing merges.
const otherClusterPause = time.Minute

// otherCluster takes note of a message that speaks of another cluster.
//
// None is taken for a cluster before a member of it says so itself: an alive node that is in no
// view of ours is told which cluster this is (onHint), and says the same of itself when it was
// told by its own gossip.
func (m *Machine) otherCluster(r Receive, c view.ClusterID) {
	m.stats.DroppedOtherCluster++
	if m.second.over(m.now, otherClusterPause) {
		m.fx.event(SecondCluster{UID: r.From, Addr: r.FromAddr, Cluster: c})
	}
}
