package persistence

import (
	"github.com/zeebo/xxh3"

	"github.com/coterie-go/coterie/ddata/membership/singleton"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Hosting is one stay of a shard on a node. Types that begin with "coterie/" hold what the library
// keeps beside the entities: packages ledger and journaled name them.
type Hosting struct {
	Type  string                 // name of the entity type
	Shard protocol.ShardID       // its shard
	Token singleton.FencingToken // of this stay: above those of all before it
}

// SliceCount is the number of slices. Readers share a type's entities by ranges of them.
const SliceCount = 1024

// SliceOf returns the slice of an entity. It depends on nothing but the id, so that it stays when
// the number of shards changes.
func SliceOf(id string) int { return int(xxh3.HashString(id) % SliceCount) }
