package remember_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// A store of one's own is called so, by the region that hosts a shard. A region that hosted it before is
// refused.
func ExampleStore() {
	ctx := context.Background()
	var ids remember.Store = &remember.Memory{}
	before, now := sharding.FencingToken{Epoch: 1}, sharding.FencingToken{Epoch: 2}
	cancel := ids.(remember.Watcher).Watch(func(shard protocol.ShardID, _ protocol.IDsChanged) {
		fmt.Println("shard", shard, "has changed")
	})
	defer cancel()

	fmt.Println(ids.Update(ctx, before, 7, []protocol.EntityID{"cart-42"}, nil))
	fmt.Println(ids.Load(ctx, now, 7))
	err := ids.Update(ctx, before, 7, nil, []protocol.EntityID{"cart-42"})
	fmt.Println(errors.Is(err, remember.ErrFenced))
	// Output:
	// shard 7 has changed
	// <nil>
	// ["cart-42"] <nil>
	// true
}

// A store may have work that no call waits for, and may run by the scheduler of its node. That of package
// journaled does both.
func ExampleTidier() {
	journal := &memory.Store{}
	ids, err := journaled.New(journaled.Config{Type: "Cart", Journal: journal, Snapshots: journal, SnapshotAfter: 2})
	if err != nil {
		fmt.Println(err)
		return
	}
	var (
		tidier remember.Tidier    = ids
		_      remember.Scheduled = ids
	)
	ctx, token := context.Background(), sharding.FencingToken{Epoch: 1}
	for _, id := range []protocol.EntityID{"cart-1", "cart-2", "cart-3"} {
		if err := tidier.Update(ctx, token, 7, []protocol.EntityID{id}, nil); err != nil {
			fmt.Println(err)
		}
	}
	tidier.Tidy(ctx)
	held, err := journaled.Holds(ctx, journal, "Cart")
	fmt.Println(held.Snapshots > 0, err)
	// Output: true <nil>
}
