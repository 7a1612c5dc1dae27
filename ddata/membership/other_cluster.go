package membership

import (
	"time"
)

// This file notices another cluster of the same name: two that were founded beside each other by
// mistake, which nothing merges.

// otherClusterPause is how long nothing more is said of another cluster.
const otherClusterPause = time.Minute

// otherCluster takes note of a message that speaks of another cluster.
//
// None is taken for a cluster before a member of it says so itself: an alive node that is in no
// view of ours is told which cluster this is (onHint), and says the same of itself when it was
// told by its own gossip.
func (m *Machine) otherCluster(r Receive, c ClusterID) {
	m.stats.DroppedOtherCluster++
	if m.now.Before(m.otherClusterAt) {
		return
	}
	m.otherClusterAt = m.now.Add(otherClusterPause)
	m.fx.event(SecondCluster{UID: r.From, Addr: r.FromAddr, Cluster: c})
}
