package bootstrap

import "github.com/coterie-go/coterie/ddata/membership/view"

// Memory is what the disk of a node remembers of a cluster.
type Memory struct {
	Last *view.View // that was installed last; nil = none
	// that was accepted since, or to which the node locked itself, and may have been decided; nil =
	// none
	Pending *view.View
	Settled view.Epoch // up to which all is settled
	Free    bool       // no node runs under a lease that the last incarnation answers for
}

// Knows is what the disk says to the nodes with which this node would found a cluster anew.
func (r Memory) Knows() (ks []Known) {
	if r.Last != nil {
		ks = append(ks, Known{
			Cluster: r.Last.Cluster, Era: r.Last.Era, Epoch: r.Last.Epoch, Voters: r.Last.OnDisk(), Settled: r.Settled,
			Sets: r.Last.Witnesses(), Durable: view.MergePatterns(r.Last.Durable, r.Last.Moving), Moves: r.Last.Moves,
		})
	}
	if p := r.Pending; p != nil {
		ks = append(ks, Known{
			Cluster: p.Cluster, Era: p.Era, Epoch: p.Epoch, Pending: true, Founding: p.Founded,
			Voters: p.OnDisk(), Sets: p.Own(),
			Durable: view.MergePatterns(p.Durable, p.Moving), Moves: p.Moves,
		})
	}
	return ks
}
