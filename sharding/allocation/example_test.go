package allocation_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
)

// board is what is known of shards: here where they live, and how busy shard 0 is.
type board map[allocation.UID][]allocation.ShardID

func (b board) ShardsOf(u allocation.UID) []allocation.ShardID { return b[u] }

func (b board) Load(s allocation.ShardID) (allocation.Load, bool) {
	if s == 0 {
		return allocation.Load{Messages: 1000, HandlerTime: .5, Entities: 10}, true
	}
	return allocation.Load{Messages: 1, Entities: 10}, true
}

func (b board) MovedAt(allocation.ShardID) time.Time { return time.Time{} }
func (b board) Location(allocation.ShardID) string   { return "" }

var _ allocation.Facts = board{}

// cluster has two regions: the first has shard 0, the second the next three.
func cluster() *allocation.Allocations {
	regions := []allocation.Region{
		{UID: 1, UpNumber: 1, Addr: "10.0.0.1:7946", Count: 1},
		{UID: 2, UpNumber: 2, Addr: "10.0.0.2:7946", Count: 3},
	}
	return allocation.New(regions, 10, board{1: {0}, 2: {1, 2, 3}})
}

// Strategies of this package choose the home of one more shard. A type has one in
// sharding.EntityType.Allocation.
func ExampleStrategy() {
	for _, s := range []allocation.Strategy{
		allocation.LeastShard{}, // the default
		allocation.Threshold{},
		allocation.LoadAware{MessageWeight: 1},
		allocation.ConsistentHashing{},
		allocation.External{}, // a client says where
	} {
		home, ok := s.Allocate(1, 7, cluster())
		fmt.Println(allocation.NameOf(s), ok, home)
	}
	// Output:
	// allocation.LeastShard true 1
	// allocation.Threshold true 1
	// allocation.LoadAware true 2
	// allocation.ConsistentHashing true 1
	// allocation.External true 1
}

// Settings that make no sense are refused when a type is started.
func ExampleLeastShard_Validate() {
	fmt.Println(errors.Join(
		allocation.LeastShard{RebalanceAbsoluteLimit: 5, RebalanceRelativeLimit: .2}.Validate(),
		allocation.LoadAware{Tolerance: .2, RestAfterMove: time.Minute}.Validate(),
		allocation.ConsistentHashing{VirtualNodes: 100, LoadBound: 1.1}.Validate(),
	))
	// Output: <nil>
}

// oldest is a strategy of one's own: everything lives on the oldest region, and nothing moves.
type oldest struct{}

// Name is compared by nodes.
func (oldest) Name() string { return "shop/oldest" }

// Needs says what is gathered for it, beside counts.
func (oldest) Needs() allocation.Needs { return allocation.Needs{} }

func (oldest) Allocate(_ allocation.UID, _ allocation.ShardID, a *allocation.Allocations) (allocation.UID, bool) {
	var home allocation.Region
	for _, r := range a.Regions {
		if !r.Leaving && (home.UID == 0 || r.UpNumber < home.UpNumber) {
			home = r
		}
	}
	return home.UID, home.UID != 0
}

func (oldest) Rebalance(*allocation.Allocations, []allocation.ShardID) []allocation.ShardID {
	return nil
}

func ExampleStrategy_own() {
	var (
		_ allocation.Named = oldest{}
		_ allocation.Needy = oldest{}
	)
	home, failure := allocation.Choose(oldest{}, allocation.Request{Shard: 7, Requester: 2}, cluster())
	fmt.Println(allocation.NameOf(oldest{}), home, failure == nil)
	// Output: shop/oldest 1 true
}
