package region

import (
	"maps"
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// stopper has the coordinator stop shards for good, as this node has asked.
type stopper struct {
	*env
	registration *registration
	stops        map[protocol.ShardID]bool // that have not stopped yet
}

// onStopShards has the coordinator stop shards for good; it is asked until it says of each that it
// rests.
func (sp *stopper) onStopShards(ps *places, shards []protocol.ShardID) {
	var fresh []protocol.ShardID
	for _, s := range shards {
		if _, ok := ps.at(s); ok && !sp.stops[s] {
			sp.stops[s] = true
			fresh = append(fresh, s)
		}
	}
	sp.sendStops(fresh)
}

// askStops asks for all that the coordinator has not answered.
func (sp *stopper) askStops() { sp.sendStops(slices.Sorted(maps.Keys(sp.stops))) }

func (sp *stopper) sendStops(shards []protocol.ShardID) {
	if !sp.registration.known {
		return // all are asked for on registration
	}
	for part := range slices.Chunk(shards, protocol.BatchMax) {
		sp.send(sp.registration.coordinator, protocol.StopShards{Shards: part})
	}
}

// onAtRest passes on which shards have stopped.
func (sp *stopper) onAtRest(m protocol.AtRest) {
	for _, s := range m.Shards {
		if !sp.stops[s] {
			sp.countIgnored()
			continue
		}
		delete(sp.stops, s)
		sp.fx.AtRest = append(sp.fx.AtRest, s)
	}
}
