package coordinator

import (
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// byHome links the shards of each home, so that what concerns one region does not cost a look at all
// shards.
type byHome struct {
	first map[protocol.UID]uint32 // from 1
}

// neighbours are the shards before and after one in the list of its home, from 1; 0: none.
type neighbours struct{ prev, next uint32 }

// set notes where a shard lives; 0: nowhere.
func (b byHome) set(shards []shardState, s protocol.ShardID, u protocol.UID) {
	st, first := &shards[s], b.first
	if st.home != 0 {
		if st.near.next != 0 {
			shards[st.near.next-1].near.prev = st.near.prev
		}
		switch {
		case st.near.prev != 0:
			shards[st.near.prev-1].near.next = st.near.next
		case st.near.next != 0:
			first[st.home] = st.near.next
		default:
			delete(first, st.home)
		}
	}
	st.home, st.near = u, neighbours{}
	if u == 0 {
		return
	}
	st.near.next = first[u]
	if st.near.next != 0 {
		shards[st.near.next-1].near.prev = uint32(s) + 1
	}
	first[u] = uint32(s) + 1
}

// isHome reports whether a shard lives on a member.
func (b byHome) isHome(u protocol.UID) bool { return b.first[u] != 0 }

// of are the shards that live on a member, in order.
func (b byHome) of(shards []shardState, u protocol.UID) (all []protocol.ShardID) {
	for at := b.first[u]; at != 0; at = shards[at-1].near.next {
		all = append(all, protocol.ShardID(at-1))
	}
	slices.Sort(all)
	return all
}

// check reports a list that does not have the shards of its home, each once.
func (b byHome) check(shards []shardState) error {
	left := 0
	for i := range shards {
		if shards[i].home != 0 {
			left++
		}
	}
	for u, first := range b.first { // order: any that is wrong
		prev := uint32(0)
		for at := first; at != 0; at = shards[at-1].near.next {
			st := &shards[at-1]
			if st.home != u || st.near.prev != prev {
				return fmt.Errorf("shard %d, of %v, is in the list of %v, or its link back is wrong", at-1, st.home, u)
			}
			prev = at
			left--
		}
	}
	if left > 0 {
		return fmt.Errorf("%d shards live somewhere, and are in no list", left)
	}
	return nil
}
