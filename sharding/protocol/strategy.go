package protocol

import (
	"cmp"
	"slices"
)

// Strategy decides where shards live. Its methods are called by the Coordinator's Step: they must be quick and deterministic, and must
// neither keep nor change what they are handed.
type Strategy interface {
	// Allocate picks the home of a shard that has none, among those of a.Regions that are not leaving; requester is the region that asked
	// first, 0 when nobody did. ok=false: not now.
	Allocate(requester UID, shard ShardID, a *Allocations) (home UID, ok bool)
	// Rebalance picks shards to move now. What is in inProgress is moving already.
	Rebalance(a *Allocations, inProgress []ShardID) []ShardID
}

// RegionLoad is what a Strategy sees of one region.
type RegionLoad struct {
	UID        UID
	UpNumber   uint32
	AppVersion string
	Leaving    bool // must not be given shards
	Count      int  // shards that live here or are about to, but for those that are on their way out
}

// Allocations is what a Strategy sees of the cluster, decisions that are not carried out yet included.
type Allocations struct {
	Regions []RegionLoad // by UID
	Steady  bool         // one app version among the regions' members, no member unreachable, none joining
	shards  func(UID) []ShardID
}

// NewAllocations makes what a Strategy is handed, for tests of strategies. shards answers a region's shards, earliest allocated first.
func NewAllocations(regions []RegionLoad, steady bool, shards func(UID) []ShardID) *Allocations {
	slices.SortFunc(regions, func(a, b RegionLoad) int { return cmp.Compare(a.UID, b.UID) })
	return &Allocations{Regions: regions, Steady: steady, shards: shards}
}

// Shards are the shards of a region, earliest allocated first. The slice is only for this call of the Strategy.
func (a *Allocations) Shards(u UID) []ShardID { return a.shards(u) }
