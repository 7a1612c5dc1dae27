package allocation

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// UID names one incarnation of a node.
type UID = view.UID

// ShardID numbers the shards of a type, from 0.
type ShardID uint32

func (s ShardID) String() string { return strconv.FormatUint(uint64(s), 10) }

// Strategy decides where shards live. Its methods must neither keep nor change what they are
// handed. Those of this package are deterministic and are called by the coordinator itself; any
// other is called beside it, one call at a time, on a copy: see Consultation.
type Strategy interface {
	// Allocate picks the home of a shard that has none, among the regions of a.Regions that are not
	// leaving; requester is the region that asked first, 0 when no region did. ok=false: not now,
	// ask again later.
	Allocate(requester UID, shard ShardID, a *Allocations) (home UID, ok bool)
	// Rebalance picks shards to move now; each then gets its home from Allocate. What is in
	// inProgress is moving already. It is called at a good time only: the coordinator's gates have
	// been passed.
	Rebalance(a *Allocations, inProgress []ShardID) []ShardID
}

// Needs is what a Strategy looks at beside counts. What it does not need is not gathered.
type Needs struct {
	Loads        bool          // the load of each shard, and when it moved
	LoadHalfLife time.Duration // after which half of what was measured is forgotten; default 30 s
	Locations    bool          // where an outside client wants shards to be
}

// Needy is a Strategy that looks at more than counts.
type Needy interface{ Needs() Needs }

// NeedsOf is what a Strategy looks at.
func NeedsOf(s Strategy) Needs {
	var n Needs
	if y, ok := s.(Needy); ok {
		n = y.Needs()
	}
	n.LoadHalfLife = cmp.Or(n.LoadHalfLife, 30*time.Second)
	return n
}

// Named is a Strategy with a name of its own. Nodes compare it (sharding.EntityType.Allocation): it is the same
// for every node of the role, and another one for another Strategy. What two nodes may set differently, such as
// limits, is no part of it.
type Named interface{ Name() string }

// NameOf is what nodes compare of a Strategy: its name, or its Go type if it has none, without a pointer's star.
// Those of this package go by their Go types, so that one of a user's that embeds one of them has another name.
func NameOf(s Strategy) string {
	if n, ok := s.(Named); ok {
		return n.Name()
	}
	return strings.TrimLeft(fmt.Sprintf("%T", s), "*")
}

// Region is what a Strategy sees of one region.
type Region struct {
	UID        UID
	UpNumber   uint32 // age: the lower, the older
	Addr       string // the same when the node is started again
	AppVersion string
	Leaving    bool // must not be given shards
	Count      int  // shards that live here or are about to, without those that are on their way out
}

// before orders regions by how well they suit a new shard: newer version, fewer shards, older
// member.
func (r *Region) before(o *Region) bool {
	if c := compareVersions(o.AppVersion, r.AppVersion); c != 0 {
		return c < 0
	}
	return cmp.Or(cmp.Compare(r.Count, o.Count), cmp.Compare(r.UpNumber, o.UpNumber), cmp.Compare(r.UID, o.UID)) < 0
}

// Allocations is what a Strategy sees of the cluster, decisions that are not carried out yet
// included. It belongs to the coordinator, which keeps it up to date with Add and Remove.
type Allocations struct {
	Now     time.Time
	Regions []Region // by UID
	Shards  int      // of the type, hosted or not
	// Moving says that the round of rebalancing before this one moved shards.
	Moving bool

	facts   Facts
	ring    *ring          // of ConsistentHashing; it depends on Regions and Shards only
	byAddr  map[string]int // of External: places in Regions
	weights *weights       // of LoadAware, kept up by Add and Remove
}

// Facts answers what is known of shards.
type Facts interface {
	// ShardsOf are the shards that count for a region, earliest allocated first. The slice is the
	// caller's.
	ShardsOf(UID) []ShardID
	// Load is how busy a shard is; false: it is not known.
	Load(ShardID) (Load, bool)
	// MovedAt is when a shard was last put on the move; zero: never, or it is not known.
	MovedAt(ShardID) time.Time
	// Location is the address where an outside client wants the shard; empty: nowhere in
	// particular.
	Location(ShardID) string
}

// New makes what a Strategy is handed. It takes the regions, and sorts them.
func New(regions []Region, shards int, f Facts) *Allocations {
	slices.SortFunc(regions, func(a, b Region) int { return cmp.Compare(a.UID, b.UID) })
	return &Allocations{Regions: regions, Shards: shards, facts: f}
}

// ShardsOf are the shards of a region, earliest allocated first. The slice is only for this call of
// the Strategy.
func (a *Allocations) ShardsOf(u UID) []ShardID { return a.facts.ShardsOf(u) }

// Load is how busy a shard is; false: it is not known.
func (a *Allocations) Load(s ShardID) (Load, bool) { return a.facts.Load(s) }

// MovedAt is when a shard was last put on the move; zero: never, or it is not known.
func (a *Allocations) MovedAt(s ShardID) time.Time { return a.facts.MovedAt(s) }

// Location is the address where an outside client wants the shard; empty: nowhere in particular.
func (a *Allocations) Location(s ShardID) string { return a.facts.Location(s) }

// Add notes that a shard counts for a region from now on.
func (a *Allocations) Add(u UID, s ShardID) {
	a.note(u, s, 1)
	if f, ok := a.facts.(*frozen); ok {
		f.of[u] = append(f.of[u], s)
	}
}

// Remove notes that a shard counts for a region no more.
func (a *Allocations) Remove(u UID, s ShardID) { a.note(u, s, -1) }

func (a *Allocations) note(u UID, s ShardID, d int) {
	i, ok := a.find(u)
	if !ok {
		return
	}
	a.Regions[i].Count += d
	if a.weights != nil {
		a.weights.sums[i] += float64(d) * a.weights.of(a, s)
	}
}

// LoadsChanged forgets what was worked out about loads.
func (a *Allocations) LoadsChanged() { a.weights = nil }

func (a *Allocations) find(u UID) (int, bool) {
	return slices.BinarySearchFunc(a.Regions, u, func(r Region, u UID) int { return cmp.Compare(r.UID, u) })
}

// May reports whether a region is there and may be given shards.
func (a *Allocations) May(u UID) bool {
	i, ok := a.find(u)
	return ok && !a.Regions[i].Leaving
}

// staying are the regions that are not leaving.
func (a *Allocations) staying() []Region {
	return slices.DeleteFunc(slices.Clone(a.Regions), func(r Region) bool { return r.Leaving })
}
