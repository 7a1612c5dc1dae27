package ddata

import (
	"fmt"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/replicator/effect"
)

// Tell implements drivers.ReplicaHost.
func (h *replicaHost) Tell(fx *effect.Effects) {
	if fx.Retirable != 0 {
		h.n.progress.agreed(h.set, view.Epoch(fx.Retirable))
	}
	if h.outdated = h.outdated || fx.Outdated; fx.Outdated {
		h.n.end.finish(fmt.Errorf("%w: Config.Dir %s, the data of %v", ErrOutdated, h.n.cfg.Dir, h.set))
	}
	for _, s := range fx.Settled {
		if s.Lost {
			h.n.reports.emit(events.MajorityLost{Dataset: h.set, Settled: s})
		}
	}
	for _, l := range fx.Large {
		h.n.reports.emit(events.KeyLarge{Dataset: h.set, Key: l.Key, Bytes: l.Bytes})
	}
	for _, x := range fx.Diverged {
		h.n.reports.emit(events.Diverged{
			Dataset: h.set, Key: x.Key, Dot: x.Dot, Peer: view.UID(x.Peer), Dots: x.Dots,
		})
	}
	for _, x := range fx.Malformed {
		h.n.reports.emit(events.PeerMalformed{Dataset: h.set, Peer: view.UID(x.Peer), Count: x.Count})
	}
	for _, r := range fx.Repairs {
		h.tellRepair(r)
	}
	for _, x := range fx.Holding {
		h.n.reports.emit(events.WritersHeld{Dataset: h.set, Space: x.Space, Peer: view.UID(x.Peer), Held: x.Held})
	}
	if fx.CaughtUp {
		h.n.reports.emit(events.CaughtUp{Dataset: h.set})
	}
}

func (h *replicaHost) tellRepair(r effect.Repair) {
	if r.State == effect.RepairBegan {
		h.n.reports.emit(events.RepairBegan{Dataset: h.set, Space: r.Space, Peer: view.UID(r.Peer)})
		return
	}
	if r.State == effect.RepairDone {
		h.r.requests.Repaired(r.Took)
	}
	h.n.reports.emit(events.RepairEnded{
		Dataset: h.set, Space: r.Space, Peer: view.UID(r.Peer), State: r.State, Items: r.Items, Took: r.Took,
	})
}
