package sharding_test

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/remember"
)

// shop runs carts with some settings on a node of its own.
func shop(settings func(*sharding.EntityType[Command]),
	use func(context.Context, *ddata.Node, *sharding.Region[Command]) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()
	cart := sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Cart", Role: "backend", Shards: 1},
		Messages: sharding.CBOR[Command](AddItem{}, Total{}),
		New:      func(*sharding.Context[Command]) sharding.Entity[Command] { return &Cart{} },
	}
	settings(&cart)
	carts, err := sharding.Start(node, cart)
	if err == nil {
		err = use(ctx, node, carts)
	}
	if err != nil {
		fmt.Println(err)
	}
}

// Each shard takes a lease in a store outside of the cluster before it starts: here memory,
// elsewhere a directory that all share (package ddata/locks/file), PostgreSQL (ddata/locks/postgres),
// or a store of your own.
func ExampleEntityType_lease() {
	store := locks.NewMemory()
	shop(func(t *sharding.EntityType[Command]) {
		t.Leases.Shards, t.Leases.Coordinator = store, store
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		if err := carts.Tell(ctx, "cart-42", AddItem{"apple", 2}); err != nil {
			return err
		}
		total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
		fmt.Println(total)
		return err
	})
	// Output: 2
}

// The carts of one shop share a shard, so that they are on one node, and move together.
func ExampleShardFunc() {
	shop(func(t *sharding.EntityType[Command]) {
		t.Shards = 100
		t.ShardOf = sharding.ShardFunc{Name: "shop", Of: func(id string) sharding.ShardID {
			name, _, _ := strings.Cut(id, "/")
			return sharding.ShardID(crc32.ChecksumIEEE([]byte(name)))
		}}
	}, func(_ context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		fmt.Println(carts.ShardOf("garden/cart-1") == carts.ShardOf("garden/cart-2"))
		return nil
	})
	// Output: true
}

// What becomes of an entity depends on what it has failed with. More than ten restarts a minute are
// taken for a defect that no restart mends.
func ExampleSupervision() {
	shop(func(t *sharding.EntityType[Command]) {
		t.Supervision = sharding.Supervision{
			Decide: func(err error) sharding.Directive {
				if errors.Is(err, context.DeadlineExceeded) { // the cart is sound
					return sharding.Resume
				}
				return sharding.Restart
			},
			Restarts: 10, Within: time.Minute, Backoff: 50 * time.Millisecond,
		}
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
		fmt.Println(total)
		return err
	})
	// Output: 0
}

// The ids of remembered entities are kept in the durable data of the role, or, as here, in a store
// of your own.
func ExampleEntityType_rememberStore() {
	ids := &remember.Memory{}
	for range 2 { // the cluster stops, and starts anew
		shop(func(t *sharding.EntityType[Command]) {
			t.Remember.Entities, t.Remember.Store = true, ids
		}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
			shards, err := ids.Shards(ctx, sharding.FencingToken{})
			if err != nil {
				return err
			}
			fmt.Println(len(shards), "shards with remembered carts")
			_, err = carts.StartEntity(ctx, "cart-42")
			return err
		})
	}
	// Output:
	// 0 shards with remembered carts
	// 1 shards with remembered carts
}

// Two carts of the shard may be active. The region can say which one goes, and why.
func ExampleRegion_ExplainPassivation() {
	shop(func(t *sharding.EntityType[Command]) {
		t.Passivation.Strategy = passivation.Strategy{ActiveEntityLimit: 2, Replacement: passivation.LeastRecentlyUsed}
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		for _, id := range []string{"cart-1", "cart-2"} {
			if _, err := sharding.Ask(ctx, carts.Ref(id), Total{}); err != nil {
				return err
			}
		}
		fmt.Println(carts.ExplainPassivation("cart-2"))
		return nil
	})
	// Output: "cart-2" is active; of 2 active in its shard, with room for 2: main area, 2 of 2; "cart-1" goes next
}

// An outside client says where shards shall live.
func ExampleRegion_External() {
	shop(func(t *sharding.EntityType[Command]) {
		t.Allocation.Strategy = allocation.External{}
	}, func(ctx context.Context, node *ddata.Node, carts *sharding.Region[Command]) error {
		client, err := carts.External()
		if err != nil {
			return err
		}
		if err := client.SetShardLocations(ctx, map[sharding.ShardID]string{0: node.Addr()}); err != nil {
			return err
		}
		at, err := client.ShardLocations(ctx)
		fmt.Println(len(at), at[0] == node.Addr())
		return err
	})
	// Output: 1 true
}
