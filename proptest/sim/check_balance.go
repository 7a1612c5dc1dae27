package sim

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// unbalanced says where the shards of the healed world are not spread as their strategy promises;
// empty: they are, or it takes longer than anybody waits.
func unbalanced(w *World) string {
	if w.opt.Shards > 8 && w.opt.Rebalance > 3*time.Second {
		return ""
	}
	for t := range w.opt.EntityTypes {
		why := ""
		switch s := w.opt.Allocation.(type) {
		case allocation.LeastShard, allocation.Threshold:
			if least, most, _ := w.live.hosted(t, w.opt.Shards); most-least > 1 {
				why = fmt.Sprintf("somebody hosts %d shards of T%d, and somebody %d", most, t, least)
			}
		case allocation.ConsistentHashing:
			_, most, hosts := w.live.hosted(t, w.opt.Shards)
			bound := cmp.Or(s.LoadBound, 1.25)
			if room := int(math.Ceil(bound * float64(w.opt.Shards) / float64(max(1, hosts)))); most > room {
				why = fmt.Sprintf("somebody hosts %d shards of T%d, and may host %d of %d on %d",
					most, t, room, w.opt.Shards, hosts)
			}
		case allocation.External:
			why = mislocated(w, t)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// mislocated is a shard that does not live where the outside client wants it, although a region is
// there.
func mislocated(w *World, t int) string {
	all := w.replicasOf(reserved(w.opt.RoleOfType(t)))
	if len(all) == 0 {
		return ""
	}
	m, err := protocol.LocationsMap{}.View(all[0].view(protocol.StateKey(typeName(t),
		protocol.StateLocations, 0)))
	if err != nil {
		return err.Error()
	}
	return w.live.elsewhere(t, m)
}

// hosted counts the shards of a type: the fewest and the most that a process hosts, and how many may host.
func (ps processes) hosted(t, shards int) (least, most, hosts int) {
	least = shards
	for _, p := range ps {
		d := p.types[t]
		if !d.mayHost() {
			continue
		}
		hosts++
		least, most = min(least, len(d.shards)), max(most, len(d.shards))
	}
	return least, most, hosts
}

// elsewhere is a shard that does not live where it is wanted, although a region is there.
func (ps processes) elsewhere(t int, wanted crdt.LWWMap[protocol.ShardID, string]) string {
	for s, addr := range wanted.All() {
		var there, host *Process
		for _, p := range ps {
			d := p.types[t]
			if p.slot.addr == addr && d.mayHost() {
				there = p
			}
			if d.shards[s] != nil {
				host = p
			}
		}
		if there != nil && host != nil && there != host {
			return fmt.Sprintf("shard %v of T%d lives on %v and is wanted on %v", s, t, host, there)
		}
	}
	return ""
}
