package allocation

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/zeebo/xxh3"
)

// ConsistentHashing gives each shard a home that depends on nothing but the regions that are there:
// by a ring on which every region has VirtualNodes points, and on which a shard goes to the next
// region that has room. A region has room for LoadBound times its fair share (consistent hashing
// with bounded loads, Mirrokni, Thorup and Zadimoghaddam 2016).
//
// Regions are known by their addresses, so a node that comes back gets its shards back. Shards of
// the same number live together, whatever their entity type, if the types have the same Shards,
// Role and settings here. When a region comes or goes few other shards move.
type ConsistentHashing struct {
	VirtualNodes   int     // points per region, up to 10,000: more spread better and cost more. Default 10
	RebalanceLimit int     // shards on the move at one time; default 0: as many as live elsewhere than they should
	LoadBound      float64 // the most that a region takes, in fair shares; at least 1, +Inf: no bound. Default 1.25
}

var _ Strategy = ConsistentHashing{}

// ring is the home of every shard, given the regions.
type ring struct {
	homes []UID
}

type point struct {
	at     uint64
	region int
}

// virtualNodesMax bounds the ring.
const virtualNodesMax = 10_000

// Allocate implements Strategy.
func (c ConsistentHashing) Allocate(_ UID, s ShardID, a *Allocations) (UID, bool) {
	r := c.ringOf(a)
	if int(s) >= len(r.homes) {
		return 0, false
	}
	return r.homes[s], true
}

// Rebalance implements Strategy.
func (c ConsistentHashing) Rebalance(a *Allocations, inProgress []ShardID) []ShardID {
	r := c.ringOf(a)
	if len(r.homes) == 0 {
		return nil
	}
	room := a.Shards
	if c.RebalanceLimit > 0 {
		room = c.RebalanceLimit - len(inProgress)
	}
	moving := map[ShardID]bool{}
	for _, s := range inProgress {
		moving[s] = true
	}
	var out []ShardID
	for _, g := range a.staying() {
		for _, s := range a.ShardsOf(g.UID) {
			if len(out) < room && r.homes[s] != g.UID && !moving[s] {
				out = append(out, s)
			}
		}
	}
	return out
}

// ringOf is the ring of these regions, made once.
func (c ConsistentHashing) ringOf(a *Allocations) *ring {
	if a.ring == nil {
		a.ring = c.newRing(a.staying(), a.Shards)
	}
	return a.ring
}

func (c ConsistentHashing) newRing(rs []Region, shards int) *ring {
	if len(rs) == 0 {
		return &ring{}
	}
	points := c.points(rs)
	room := bound(cmp.Or(c.LoadBound, 1.25), shards, len(rs))
	counts := make([]int, len(rs))
	homes := make([]UID, shards)
	next := make([]int, len(points)) // where to look on, at a point whose region is full
	for i := range next {
		next[i] = (i + 1) % len(points)
	}
	for s := range homes {
		first, _ := slices.BinarySearchFunc(points, hashShard(ShardID(s)),
			func(p point, h uint64) int { return cmp.Compare(p.at, h) })
		first %= len(points)
		i := first
		for counts[points[i].region] >= room {
			i = next[i]
		}
		for first != i { // the next time there is nothing to walk over
			first, next[first] = next[first], i
		}
		counts[points[i].region]++
		homes[s] = rs[points[i].region].UID
	}
	return &ring{homes: homes}
}

// points are the places of the regions on the ring, in order.
func (c ConsistentHashing) points(rs []Region) []point {
	n := cmp.Or(c.VirtualNodes, 10)
	points := make([]point, 0, n*len(rs))
	for i, r := range rs {
		name := r.Addr
		if name == "" {
			name = r.UID.String()
		}
		for v := range n {
			points = append(points, point{xxh3.HashString(fmt.Sprintf("%s#%d", name, v)), i})
		}
	}
	slices.SortFunc(points, func(p, q point) int {
		return cmp.Or(cmp.Compare(p.at, q.at), cmp.Compare(rs[p.region].UID, rs[q.region].UID))
	})
	return points
}

// bound is how many shards one region takes. All of them together have room for all shards.
func bound(share float64, shards, regions int) int {
	b := math.Ceil(share * float64(shards) / float64(regions))
	if !(b < float64(shards)) {
		return shards
	}
	return max(int(b), (shards+regions-1)/regions)
}

func hashShard(s ShardID) uint64 {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], uint32(s))
	return xxh3.Hash(b[:])
}

// Validate reports every fault of the settings together.
func (c ConsistentHashing) Validate() error {
	var f config.Faults
	atLeast(&f, "VirtualNodes", c.VirtualNodes, 0)
	atLeast(&f, "RebalanceLimit", c.RebalanceLimit, 0)
	f.Add(c.VirtualNodes > virtualNodesMax, "VirtualNodes", "%d is above %d", c.VirtualNodes, virtualNodesMax)
	f.Add(!(c.LoadBound == 0 || c.LoadBound >= 1), "LoadBound",
		"%v is below 1: the regions together would not have room for all shards", c.LoadBound)
	return f.Err("")
}
