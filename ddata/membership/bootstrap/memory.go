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
}

// Knows is what the disk says to the nodes with which this node would found a cluster anew.
func (r Memory) Knows() (ks []Known) {
	if r.Last != nil {
		ks = append(ks, Known{
			Cluster: r.Last.Cluster, Era: r.Last.Era, Epoch: r.Last.Epoch, Voters: r.Last.OnDisk(), Settled: r.Settled,
			Sets: r.Last.Witnesses(), Durable: view.MergePatterns(r.Last.Durable, r.Last.Moving), Moves: r.Last.Moves,
			Format: r.Last.Format, Complete: isComplete(r.Last), Ages: r.Last.Ages.Carried(),
		})
	}
	if p := r.Pending; p != nil {
		ks = append(ks, Known{
			Cluster: p.Cluster, Era: p.Era, Epoch: p.Epoch, Pending: true, Founding: p.Founded,
			Voters: p.OnDisk(), Sets: p.Own(),
			Durable: view.MergePatterns(p.Durable, p.Moving), Moves: p.Moves, Format: p.Format,
			Complete: isComplete(p), Ages: p.Ages.Carried(),
		})
	}
	return ks
}

// isComplete reports whether the voters of a view that have a disk are all its full members.
func isComplete(v *view.View) bool { return len(v.OnDisk()) == len(v.Full()) }

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
