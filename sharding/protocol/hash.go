package protocol

import (
	"encoding/binary"
	"strings"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Identity is what makes an entity type the same on every node of its role.
type Identity struct {
	// Name is unique in the cluster; 1 to 128 bytes of UTF-8 without '/'. Required.
	Name string
	// Role names the nodes that may host entities, and coordinate them. Package sharding requires it;
	// the machines run without one, too. On a node without the role the region is a proxy.
	Role string
	// Shards is the number of shards, 1 to 1,048,576; it cannot change while the cluster runs. Ten
	// times the largest number of nodes is a good choice: fewer spread unevenly, more cost the
	// coordinator. Default 100.
	Shards int
	// ShardOf says which shard an id belongs to: XXHash, Murmur2, or a function of your own, by
	// which ids that belong together share a shard. The same on every node, and as long as the data:
	// remembered ids that belong to another shard since it has changed are found and moved there.
	// Default XXHash. A node whose Shards, or whose ShardOf by its name, differ from the
	// coordinator's takes no part: both say so with an alarm (TypeMismatch).
	ShardOf ShardFunc
}

// Shard is the shard of an id.
func (i *Identity) Shard(id EntityID) ShardID { return i.ShardOf.Shard(id, i.Shards) }

// Service is what nodes offer that have started the type: the member in charge of it has its coordinator.
func (i Identity) Service() view.Service {
	return view.Service{Role: i.Role, Name: "sharding/" + i.Name}
}

func (i *Identity) setDefaults() {
	config.Default(&i.Shards, 100)
	if !i.ShardOf.given() {
		i.ShardOf = XXHash
	}
}

func (i *Identity) check(f *config.Faults) {
	f.Add(i.Name == "", "Name", "is empty")
	f.Add(len(i.Name) > nameMax, "Name", "has %d bytes, the limit is %d", len(i.Name), nameMax)
	f.Add(!utf8.ValidString(i.Name), "Name", "is not UTF-8")
	f.Add(strings.Contains(i.Name, "/"), "Name", "%q contains '/'", i.Name)
	f.Add(i.Shards < 1 || i.Shards > ShardsMax, "Shards", "is %d, want 1 to %d", i.Shards, ShardsMax)
	i.ShardOf.check(f)
}

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

// shardFuncNameMax is how many bytes the name of a ShardFunc has.
const shardFuncNameMax = 128

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
	case len(f.Name) > shardFuncNameMax || !utf8.ValidString(f.Name):
		faults.Add(true, "ShardOf.Name", "has %d bytes or is not UTF-8, want at most %d", len(f.Name), shardFuncNameMax)
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
