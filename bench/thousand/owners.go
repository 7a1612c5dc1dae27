package thousand

import (
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// owners judges from outside: a shard runs on one node at most, at each instant.
type owners struct {
	w       *world
	of      []uint64 // by shard; 0: none
	since   []int64  // when it lost its owner
	owned   int
	moves   int
	without time.Duration // of all moves
	longest time.Duration
}

func newOwners(w *world, shards int) owners {
	return owners{w: w, of: make([]uint64, shards), since: make([]int64, shards)}
}

// begin forgets what has moved so far.
func (o *owners) begin() { o.moves, o.without, o.longest = 0, 0, 0 }

func (o *owners) starts(uid uint64, s protocol.ShardID) {
	if was := o.of[s]; was != 0 {
		o.w.fail("shard %d starts on %x while it runs on %x", s, uid, was)
		return
	}
	o.of[s] = uid
	o.owned++
	if o.since[s] > 0 {
		d := time.Duration(o.w.now - o.since[s])
		o.moves++
		o.without += d
		o.longest = max(o.longest, d)
	}
}

func (o *owners) ends(uid uint64, s protocol.ShardID) {
	if o.of[s] != uid {
		return
	}
	o.of[s], o.since[s] = 0, o.w.now
	o.owned--
}

// died takes all from a node that has ended.
func (o *owners) died(uid uint64) {
	for s, u := range o.of {
		if u == uid {
			o.ends(uid, protocol.ShardID(s))
		}
	}
}

// all reports whether each shard has an owner.
func (o *owners) all() bool { return o.owned == len(o.of) }

// loads are how many shards the nodes own that own any: the fewest and the most, over all nodes that run.
func (o *owners) loads() (least, most int) {
	count := map[uint64]int{}
	for _, u := range o.of {
		count[u]++
	}
	least = len(o.of)
	for uid := range o.w.nodes { // order: a minimum and a maximum
		least, most = min(least, count[uid]), max(most, count[uid])
	}
	return least, most
}
