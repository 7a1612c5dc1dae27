package protocol

import "github.com/cespare/xxhash/v2"

// ShardOf is the shard of an entity id: the 64-bit xxHash of its bytes with seed 0, modulo the number of shards. It is part of the protocol:
// all nodes of all versions agree on it.
func ShardOf(id EntityID, shards int) ShardID {
	return ShardID(xxhash.Sum64String(string(id)) % uint64(shards))
}
