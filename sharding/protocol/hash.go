package protocol

import (
	"encoding/binary"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"github.com/coterie-go/coterie/ddata/config"
)

// ShardFunc says which shard an entity id belongs to. All nodes of a type have the same one. They
// compare it by its name, so another function needs another name.
type ShardFunc struct {
	// Name is 1 to 128 bytes of UTF-8: "tenant", "by-region-2". Two names are taken, by XXHash and
	// Murmur2.
	Name string
	// Of returns the shard of an id. A number above that of the shards is taken modulo it. Of must
	// depend on nothing but the id, and is called by many goroutines at a time, once or more for
	// each message. It must not panic: an id with which it does so belongs to shard 0.
	Of func(id string) ShardID
}

// The functions that need no Of. All nodes of all versions agree on what they compute.
var (
	// XXHash is the 64-bit xxHash of the id's bytes with seed 0, modulo the number of shards. The
	// default.
	XXHash = ShardFunc{Name: "xxhash"}
	// Murmur2 is what Kafka's default partitioner computes for a key of the same bytes and as many
	// partitions, so that an entity's shard is the number of its partition: 32-bit murmur2 with
	// seed 0x9747b28c, without its sign bit, modulo the number of shards.
	Murmur2 = ShardFunc{Name: "murmur2"}
)

// ShardFuncNameMax is how many bytes the name of a ShardFunc has.
const ShardFuncNameMax = 128

// given reports whether there is a function; the zero value stands for the default.
func (f ShardFunc) given() bool { return f.Name != "" || f.Of != nil }

// Shard is the shard of an id.
func (f *ShardFunc) Shard(id EntityID, shards int) ShardID {
	switch {
	case f.Of != nil:
		return f.Of(string(id)) % ShardID(shards)
	case f.Name == Murmur2.Name:
		return ShardID((murmur2(string(id)) & 0x7fffffff) % uint32(shards))
	}
	return ShardOf(id, shards)
}

func (f ShardFunc) check(faults *config.Faults) {
	taken := f.Name == XXHash.Name || f.Name == Murmur2.Name
	switch {
	case f.Name == "":
		faults.Add(true, "ShardOf", "has a function and no Name: nodes compare it by that")
	case len(f.Name) > ShardFuncNameMax || !utf8.ValidString(f.Name):
		faults.Add(true, "ShardOf.Name", "has %d bytes or is not UTF-8, want at most %d", len(f.Name), ShardFuncNameMax)
	case f.Of != nil:
		faults.Add(taken, "ShardOf.Name", "%q is taken: give your function another", f.Name)
	default:
		faults.Add(!taken, "ShardOf", "%q has no function: set Of, or use XXHash or Murmur2", f.Name)
	}
}

// ShardOf is the shard of an entity id by XXHash.
func ShardOf(id EntityID, shards int) ShardID {
	return ShardID(xxhash.Sum64String(string(id)) % uint64(shards))
}

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
