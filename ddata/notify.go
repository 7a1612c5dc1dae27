package ddata

import (
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/effect"
)

// Tell implements drivers.ReplicaHost.
func (h *replicaHost) Tell(fx *effect.Effects) {
	for _, s := range fx.Settled {
		if s.Lost {
			h.n.reports.emit(events.MajorityLost{Role: h.role, Settled: s})
		}
	}
	for _, l := range fx.Large {
		h.n.reports.emit(events.KeyLarge{Role: h.role, Key: l.Key, Bytes: l.Bytes})
	}
	for _, x := range fx.Diverged {
		h.n.reports.emit(events.Diverged{
			Role: h.role, Key: x.Key, Dot: x.Dot, Peer: view.UID(x.Peer), Dots: x.Dots,
		})
	}
	for _, x := range fx.Malformed {
		h.n.reports.emit(events.PeerMalformed{Role: h.role, Peer: view.UID(x.Peer), Count: x.Count})
	}
	for _, r := range fx.Repairs {
		h.tellRepair(r)
	}
	for _, x := range fx.Holding {
		h.n.reports.emit(events.WritersHeld{Role: h.role, Space: x.Space, Peer: view.UID(x.Peer), Held: x.Held})
	}
	if fx.CaughtUp {
		h.n.reports.emit(events.CaughtUp{Role: h.role})
	}
}

func (h *replicaHost) tellRepair(r effect.Repair) {
	if r.State == effect.RepairBegan {
		h.n.reports.emit(events.RepairBegan{Role: h.role, Space: r.Space, Peer: view.UID(r.Peer)})
		return
	}
	if r.State == effect.RepairDone {
		h.r.requests.Repaired(r.Took)
	}
	h.n.reports.emit(events.RepairEnded{
		Role: h.role, Space: r.Space, Peer: view.UID(r.Peer), State: r.State, Items: r.Items, Took: r.Took,
	})
}
