package bootstrap

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Memory is what the disk of a node remembers of a cluster.
type Memory struct {
	Last *view.View // that was installed last; nil = none
	// that was accepted since, or to which the node locked itself, and may have been decided; nil =
	// none
	Pending *view.View
	Settled view.Epoch // up to which all is settled
	Clean   view.UID   // the bound up to which the disk is good for what the members have agreed on
	Free    bool       // no node runs under a lease that the last incarnation answers for

	known []Known // what Knows has returned; nil = it was not asked since the views changed, or knows nothing
}

// lock notes to which founding view this node has locked itself.
func (r *Memory) lock(v *view.View) { r.Pending, r.Free, r.known = v, false, nil }

// Knows is what the disk says to the nodes with which this node would found a cluster anew. The slice
// is not modified.
func (r *Memory) Knows() []Known {
	if r.known == nil {
		r.known = r.remembered()
	}
	return r.known
}

func (r *Memory) remembered() (ks []Known) {
	if v := r.Last; v != nil {
		k := knownOf(v)
		k.Settled, k.Sets = r.Settled, v.Witnesses()
		ks = append(ks, k)
	}
	if v := r.Pending; v != nil {
		k := knownOf(v)
		k.Pending, k.Founding, k.Sets = true, v.Founded, v.Own()
		ks = append(ks, k)
	}
	return ks
}

// knownOf is what a disk remembers of any view.
func knownOf(v *view.View) Known {
	disks := v.OnDisk()
	return Known{
		Cluster: v.Cluster, Era: v.Era, Epoch: v.Epoch, Voters: disks, Durable: view.MergePatterns(v.Durable, v.Moving),
		Moves: v.Moves, Format: v.Format, Complete: len(disks) == len(v.Full()), Ages: v.Ages.Carried(),
	}
}

// leasesOver is when the leases have run out that the last incarnation on this disk may have
// granted, or may have known of when it installed a view. It is the zero time when there are none.
// start is when this incarnation began.
func (r *Memory) leasesOver(cfg *Config, start time.Time) time.Time {
	if r.Last == nil && r.Pending == nil || r.Free {
		return time.Time{}
	}
	if d := cfg.DiskSince; !d.IsZero() && d.Before(start) {
		start = d
	}
	return start.Add(cfg.Promise)
}

// isStranger reports whether a cluster is another one than that which the disk remembers. A founding
// that was never completed binds no node, and neither does a disk that an operator has given up.
func (r *Memory) isStranger(cfg *Config, c view.ClusterID) bool {
	return r.Last != nil && !cfg.AnyDisks && c != r.Last.Cluster
}
