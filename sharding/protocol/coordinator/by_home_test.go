package coordinator

import (
	"testing"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestByHomeCheck: lists that follow every change of home are right, and each way of missing one is found.
func TestByHomeCheck(t *testing.T) {
	homes := func() (byHome, []shardState) {
		b, shards := byHome{first: map[protocol.UID]uint32{}}, make([]shardState, 5)
		for s, u := range []protocol.UID{7, 8, 7, 0, 7} {
			b.set(shards, protocol.ShardID(s), u)
		}
		b.set(shards, 1, 7)
		b.set(shards, 2, 0)
		return b, shards
	}
	if b, shards := homes(); b.check(shards) != nil {
		t.Error(b.check(shards))
	}
	for name, spoil := range map[string]func(byHome, []shardState){
		"one in no list":        func(_ byHome, shards []shardState) { shards[3].home = 8 },
		"one in another list":   func(_ byHome, shards []shardState) { shards[0].home = 8 },
		"one of no home":        func(_ byHome, shards []shardState) { shards[0].home = 0 },
		"a list without an end": func(b byHome, shards []shardState) { shards[0].near.next = b.first[7] },
		"a list that is lost":   func(b byHome, _ []shardState) { delete(b.first, 7) },
		"a list cut short":      func(b byHome, shards []shardState) { shards[b.first[7]-1].near.next = 0 },
	} {
		b, shards := homes()
		if spoil(b, shards); b.check(shards) == nil {
			t.Error(name)
		}
	}
}
