package bootstrap

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// This file keeps a node whose disk remembers a cluster apart from other clusters. The address of
// an earlier member may belong to another cluster by now: addresses are used again.

// strangers are the seeds at which a member of another cluster than that of this node's disk refused
// it. The zero strangers is empty.
type strangers struct{ seeds map[string]bool }

// refuse notes that a member of another cluster has refused this node at a seed, and reports whether
// that has been found at every seed. Then the operator has named another cluster than that of the
// disk, and waiting helps nothing.
func (x *strangers) refuse(cfg *Config, at string) bool {
	if !slices.Contains(cfg.Seeds, at) {
		return false
	}
	if x.seeds == nil {
		x.seeds = make(map[string]bool)
	}
	x.seeds[at] = true
	return !slices.ContainsFunc(cfg.Seeds, func(seed string) bool { return seed != cfg.Self.Addr && !x.seeds[seed] })
}

// strangerText says why a member of another cluster is passed over; own is that of the disk.
func strangerText(c view.ClusterID, addr string, own view.ClusterID) string {
	return fmt.Sprintf("at %s is a member of another cluster of this name, %v; the disk is of cluster %v, and "+
		"this node looks for that one", addr, c, own)
}
