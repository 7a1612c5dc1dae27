package membership

import (
	"fmt"
	"slices"
)

// This file keeps a node whose disk remembers a cluster apart from other clusters. The address of
// an earlier member may belong to another cluster by now: addresses are used again.

// isStranger reports whether a cluster is another one than that which this node's disk remembers. A
// founding that was never completed binds no node, and neither does a disk that an operator has
// given up.
func (m *Machine) isStranger(c ClusterID) bool {
	last := m.record.Last
	return last != nil && !m.cfg.BootstrapAnyDisks && c != last.Cluster
}

// allSeedsAreStrangers notes that a member of another cluster has refused this node, and reports
// whether that has been found at every seed. Then the operator has named another cluster than that
// of the disk, and waiting helps nothing.
func (m *Machine) allSeedsAreStrangers(f Refuse) bool {
	if !slices.Contains(m.cfg.Seeds, f.At) {
		return false
	}
	m.bootstrap.strangers[f.At] = true
	return !slices.ContainsFunc(m.cfg.Seeds, func(seed string) bool { return seed != m.cfg.Addr && !m.bootstrap.strangers[seed] })
}

// strangerText says why a member of another cluster is passed over.
func (m *Machine) strangerText(c ClusterID, addr string) string {
	return fmt.Sprintf("at %s is a member of another cluster of this name, %v; the disk is of cluster %v, and this node looks for that one", addr, c,
		m.record.Last.Cluster)
}
