package bootstrap

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// This file keeps a node whose disk remembers a cluster apart from other clusters. The address of
// an earlier member may belong to another cluster by now: addresses are used again.

// isStranger reports whether a cluster is another one than that which this node's disk remembers. A
// founding that was never completed binds no node, and neither does a disk that an operator has
// given up.
func (s *Seeker) isStranger(c view.ClusterID) bool {
	last := s.memory.Last
	return last != nil && !s.cfg.AnyDisks && c != last.Cluster
}

// allSeedsAreStrangers notes that a member of another cluster has refused this node, and reports
// whether that has been found at every seed. Then the operator has named another cluster than that
// of the disk, and waiting helps nothing.
func (s *Seeker) allSeedsAreStrangers(f Refuse) bool {
	if !slices.Contains(s.cfg.Seeds, f.At) {
		return false
	}
	s.strangers[f.At] = true
	return !slices.ContainsFunc(s.cfg.Seeds, func(seed string) bool { return seed != s.cfg.Self.Addr && !s.strangers[seed] })
}

// strangerText says why a member of another cluster is passed over.
func (s *Seeker) strangerText(c view.ClusterID, addr string) string {
	return fmt.Sprintf("at %s is a member of another cluster of this name, %v; the disk is of cluster %v, and this node looks for that one", addr, c,
		s.memory.Last.Cluster)
}
