package region

import (
	"maps"
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// onStopShards has the coordinator stop shards for good; it is asked until it says of each that it
// rests.
func (r *Region) onStopShards(shards []protocol.ShardID) {
	var fresh []protocol.ShardID
	for _, s := range shards {
		if _, ok := r.at(s); ok && !r.stops[s] {
			r.stops[s] = true
			fresh = append(fresh, s)
		}
	}
	r.sendStops(fresh)
}

// askStops asks for all that the coordinator has not answered.
func (r *Region) askStops() { r.sendStops(slices.Sorted(maps.Keys(r.stops))) }

func (r *Region) sendStops(shards []protocol.ShardID) {
	if !r.known {
		return // all are asked for on registration
	}
	for part := range slices.Chunk(shards, protocol.BatchMax) {
		r.send(r.coordinator, protocol.StopShards{Shards: part})
	}
}

// onAtRest passes on which shards have stopped.
func (r *Region) onAtRest(m protocol.AtRest) {
	for _, s := range m.Shards {
		if !r.stops[s] {
			r.countIgnored()
			continue
		}
		delete(r.stops, s)
		r.fx.AtRest = append(r.fx.AtRest, s)
	}
}
