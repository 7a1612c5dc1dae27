package ddata

import (
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/replicator"
)

// tell says what a step of a Replicator has shown.
func (d *replicaDriver) tell(fx *replicator.Effects) {
	for _, s := range fx.Settled {
		if s.Lost {
			d.n.reports.emit(events.MajorityLost{Role: d.role, Settled: s})
		}
	}
	for _, l := range fx.Large {
		d.n.reports.emit(events.KeyLarge{Role: d.role, Key: l.Key, Bytes: l.Bytes})
	}
	for _, x := range fx.Diverged {
		d.n.reports.emit(events.Diverged{Role: d.role, Key: x.Key, Dot: x.Dot, Peer: membership.UID(x.Peer), Dots: x.Dots})
	}
	for _, x := range fx.Malformed {
		d.n.reports.emit(events.PeerMalformed{Role: d.role, Peer: membership.UID(x.Peer), Count: x.Count})
	}
	for _, r := range fx.Repairs {
		d.tellRepair(r)
	}
	for _, h := range fx.Holding {
		d.n.reports.emit(events.WritersHeld{Role: d.role, Space: h.Space, Peer: membership.UID(h.Peer), Held: h.Held})
	}
	if fx.CaughtUp {
		d.n.reports.emit(events.CaughtUp{Role: d.role})
	}
}

func (d *replicaDriver) tellRepair(r replicator.Repair) {
	if r.State == replicator.RepairBegan {
		d.n.reports.emit(events.RepairBegan{Role: d.role, Space: r.Space, Peer: membership.UID(r.Peer)})
		return
	}
	if d.times != nil && r.State == replicator.RepairDone {
		d.times.repair.Observe(r.Took.Seconds())
	}
	d.n.reports.emit(events.RepairEnded{Role: d.role, Space: r.Space, Peer: membership.UID(r.Peer), State: r.State, Items: r.Items, Took: r.Took})
}
