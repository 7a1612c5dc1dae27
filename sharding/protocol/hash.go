package protocol

import (
	"encoding/binary"
	"fmt"

	"github.com/cespare/xxhash/v2"
)

// Hash names a function from entity ids to shards. All nodes of all versions agree on what each
// computes; it is part of the protocol.
type Hash uint8

const (
	// HashXX is the 64-bit xxHash of the id's bytes with seed 0, modulo the number of shards. The
	// default.
	HashXX Hash = iota
	// HashMurmur2 is what Kafka's default partitioner computes for a key of the same bytes and as
	// many partitions, so that an entity's shard is the number of its partition: 32-bit murmur2
	// with seed 0x9747b28c, without its sign bit, modulo the number of shards.
	HashMurmur2
	hashEnd
)

func (h Hash) String() string {
	switch h {
	case HashXX:
		return "xxhash"
	case HashMurmur2:
		return "murmur2"
	}
	return fmt.Sprintf("Hash(%d)", uint8(h))
}

// ShardOf is the shard of an entity id.
func (h Hash) ShardOf(id EntityID, shards int) ShardID {
	if h == HashMurmur2 {
		return ShardID((murmur2(string(id)) & 0x7fffffff) % uint32(shards))
	}
	return ShardID(xxhash.Sum64String(string(id)) % uint64(shards))
}

// ShardOf is the shard of an entity id by HashXX.
func ShardOf(id EntityID, shards int) ShardID { return HashXX.ShardOf(id, shards) }

// murmur2 is the 32-bit MurmurHash2 by Austin Appleby with Kafka's seed.
func murmur2(s string) uint32 {
	const m = 0x5bd1e995
	h := 0x9747b28c ^ uint32(len(s))
	b := []byte(s)
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		h = h*m ^ (k^k>>24)*m
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h = (h ^ h>>13) * m
	return h ^ h>>15
}
