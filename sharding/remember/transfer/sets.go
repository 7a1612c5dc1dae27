package transfer

import (
	"context"
	"maps"
	"slices"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// noHosting is the token of a tool.
var noHosting singleton.FencingToken

// sets are the ids of a store.
type sets map[protocol.ShardID]map[protocol.EntityID]bool

func read(ctx context.Context, s remember.Store) (sets, error) {
	shards, err := s.Shards(ctx, noHosting)
	if err != nil {
		return nil, err
	}
	out := sets{}
	for _, shard := range shards {
		ids, err := s.Load(ctx, noHosting, shard)
		if err != nil {
			return nil, err
		}
		set := make(map[protocol.EntityID]bool, len(ids))
		for _, id := range ids {
			set[id] = true
		}
		out[shard] = set
	}
	return out, nil
}

func (s sets) len() (n int) {
	for _, set := range s { // order: it counts
		n += len(set)
	}
	return n
}

// shards counts those that have ids.
func (s sets) shards() (n int) {
	for _, set := range s { // order: it counts
		if len(set) > 0 {
			n++
		}
	}
	return n
}

// difference is what has to change in a shard of the target.
type difference struct {
	shard       protocol.ShardID
	add, remove []protocol.EntityID
}

// differences are in the order of their shards.
func differences(source, target sets) (out []difference) {
	all := map[protocol.ShardID]bool{}
	for _, s := range []sets{source, target} {
		for shard := range s { // order: it is a set
			all[shard] = true
		}
	}
	for _, shard := range slices.Sorted(maps.Keys(all)) {
		d := difference{shard, missing(source[shard], target[shard]), missing(target[shard], source[shard])}
		if len(d.add)+len(d.remove) > 0 {
			out = append(out, d)
		}
	}
	return out
}

// missing are the ids of one set that are not in another one.
func missing(of, in map[protocol.EntityID]bool) (ids []protocol.EntityID) {
	for _, id := range slices.Sorted(maps.Keys(of)) {
		if !in[id] {
			ids = append(ids, id)
		}
	}
	return ids
}
