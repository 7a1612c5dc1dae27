package doc_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// The strategies of package allocation, each with the settings that one changes most.
var (
	byCounts  = allocation.LeastShard{RebalanceAbsoluteLimit: 20, RebalanceRelativeLimit: 0.1} // the default
	byHash    = allocation.ConsistentHashing{LoadBound: 1.25, RebalanceLimit: 10}
	byLoad    = allocation.LoadAware{Tolerance: 0.1, RestAfterMove: 5 * time.Minute}
	byOutside = allocation.External{}
)

func TestStrategies(t *testing.T) {
	for _, s := range []allocation.Strategy{byCounts, byHash, byLoad, byOutside} {
		typ := carts
		typ.Allocation.Strategy = s
		if err := typ.Validate(); err != nil {
			t.Error(err)
		}
	}
}

// pin has the shard of a cart live on a node, whatever the others would choose. The type's strategy is
// allocation.External.
func pin(ctx context.Context, carts *sharding.Region[Command], id string, on *ddata.Node) error {
	client, err := carts.External()
	if err != nil {
		return err
	}
	return client.SetShardLocations(ctx, map[sharding.ShardID]string{carts.ShardOf(id): on.Addr()})
}

func backends(_ int, c *ddata.Config) { c.Roles = []string{"backend"} }

func TestPinned(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 3, backends)
		typ := carts
		typ.Allocation.Strategy = byOutside
		regions := shardingtest.Regions(t, c, typ)
		for i, g := range regions {
			if err := pin(t.Context(), g, "cart-42", c.Node(i)); err != nil {
				t.Fatal(err)
			}
			if _, err := sharding.Ask(t.Context(), g.Ref("cart-42"), Total{}); err != nil {
				t.Fatal(err)
			}
			shardingtest.AwaitHosted(t, g, "cart-42", c.Node(i))
		}
	})
}

// guarded has each shard, and the coordinator, hold a lock outside of the cluster while it runs.
func guarded(typ sharding.EntityType[Command], store locks.Store) sharding.EntityType[Command] {
	typ.Leases.Shards, typ.Leases.Coordinator = store, store
	return typ
}

// Two clusters of one name, founded by mistake, share the store. A cart runs in one of them at a time.
func TestGuarded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ := guarded(carts, locks.NewMemory())
		a, b := ddatatest.NewCluster(t, 1, backends), ddatatest.NewCluster(t, 1, backends)
		inA := shardingtest.Regions(t, a, typ)[0]
		if _, err := sharding.Ask(t.Context(), inA.Ref("cart-42"), Total{}); err != nil {
			t.Fatal(err)
		}
		inB := shardingtest.Regions(t, b, typ)[0]
		if n, err := sharding.Ask(t.Context(), inB.Ref("cart-42"), Total{}); err == nil {
			t.Error("it runs in the other cluster, too:", n)
		}
		a.Leave(0)
		if _, err := sharding.Ask(t.Context(), inB.Ref("cart-42"), Total{}); err != nil {
			t.Error(err)
		}
	})
}

// forRollOuts is what a type and its nodes are given where nodes are replaced one by one.
func forRollOuts(typ *sharding.EntityType[BankCommand], node *ddata.Config) {
	typ.Rebalance.Delay = 30 * time.Second // a little more than from one node to the next
	node.AppVersion = "2026-11-29"         // no shard moves for balance while versions differ
	node.LeaveOnSIGTERM = 25 * time.Second // hand over, in less than the grace period
}

// Each node is replaced, while accounts are asked. No question fails, and no cent is lost.
func TestRollOut(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		typ, err := accounts(&memory.Store{}) // the store of all nodes
		if err != nil {
			t.Fatal(err)
		}
		c := ddatatest.NewCluster(t, 3, backends)
		shardingtest.Regions(t, c, typ)
		deposited := make([]int, 20)
		for replaced := range c.Len() {
			client := shardingtest.RegionAt(t, c, (replaced+1)%c.Len(), typ)
			var load sync.WaitGroup
			for a := range deposited {
				load.Go(func() {
					for range 10 {
						deposited[a]++
						id := fmt.Sprint("account-", a)
						n, err := sharding.Ask(t.Context(), client.Ref(id), Deposit{Cents: 1})
						if n != deposited[a] || err != nil {
							t.Errorf("%s has %d, %v; want %d", id, n, err, deposited[a])
						}
					}
				})
			}
			c.Leave(replaced) // hands its shards over
			load.Wait()
			c.Restart(replaced)
			shardingtest.RegionAt(t, c, replaced, typ)
		}
	})
}

func TestForRollOuts(t *testing.T) {
	typ, err := accounts(&memory.Store{})
	if err != nil {
		t.Fatal(err)
	}
	node := ddata.Config{Name: "bank", Bind: "127.0.0.1:0", BootstrapExpect: 1}
	forRollOuts(&typ, &node)
	if err := typ.Validate(); err != nil {
		t.Error(err)
	}
	if err := node.Validate(); err != nil {
		t.Error(err)
	}
}
