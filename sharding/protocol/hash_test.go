package protocol

import (
	"testing"
)

// The vectors are those of Kafka's partitioner.
func TestMurmur2(t *testing.T) {
	for id, want := range map[string]int32{
		"1": -1993445489, "12": 126087238, "123": -267702483, "1234": -1614185708, "12345": -1188365604,
	} {
		if got := int32(murmur2(id)); got != want {
			t.Errorf("murmur2 of %q is %d, want %d", id, got, want)
		}
		if got, want := Murmur2.Shard(EntityID(id), 10), ShardID((want&0x7fffffff)%10); got != want {
			t.Errorf("%q is in shard %d, want %d", id, got, want)
		}
	}
}

// The vectors are those of xxHash: what is stored and sent depends on them.
func TestXXHash(t *testing.T) {
	if got := ShardOf("", 1<<20); got != ShardID(0xef46db3751d8e999&(1<<20-1)) {
		t.Errorf("shard of nothing: %x", got)
	}
	if got := ShardOf("abc", 1<<20); got != ShardID(0x44bc2cf5ad770999&(1<<20-1)) {
		t.Errorf("shard of abc: %x", got)
	}
}
