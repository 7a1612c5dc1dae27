package coordinator

import (
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

// setHome notes where a shard lives; 0: nowhere.
func (h *homes) setHome(s protocol.ShardID, u protocol.UID) {
	st, first := &h.shards[s], h.byHome.first
	if st.home != 0 {
		if st.near.next != 0 {
			h.shards[st.near.next-1].near.prev = st.near.prev
		}
		switch {
		case st.near.prev != 0:
			h.shards[st.near.prev-1].near.next = st.near.next
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
		h.shards[st.near.next-1].near.prev = uint32(s) + 1
	}
	first[u] = uint32(s) + 1
}

// hasShards reports whether a shard lives on a member.
func (h *homes) hasShards(u protocol.UID) bool { return h.byHome.first[u] != 0 }

// shardsOf are the shards that live on a member, in order.
func (h *homes) shardsOf(u protocol.UID) (all []protocol.ShardID) {
	for at := h.byHome.first[u]; at != 0; at = h.shards[at-1].near.next {
		all = append(all, protocol.ShardID(at-1))
	}
	slices.Sort(all)
	return all
}
