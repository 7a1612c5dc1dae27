package journaled_test

import (
	"context"
	"fmt"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// The ids of remembered entities are in a journal, for nodes without disks. In production that is PostgreSQL.
func ExampleNew() {
	ctx := context.Background()
	journal := &memory.Store{}
	var ids *journaled.Store
	ids, err := journaled.New(journaled.Config{Type: "Cart", Journal: journal, Snapshots: journal, SnapshotAfter: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	setting := sharding.Remember{Entities: true, Store: ids} // of a sharding.EntityType

	// What package sharding does with it:
	var (
		_     remember.Scheduled = ids
		_     remember.Tidier    = ids
		token                    = sharding.FencingToken{Epoch: 1}
	)
	fmt.Println(setting.Store.Update(ctx, token, 7, []protocol.EntityID{"cart-42"}, nil))
	fmt.Println(setting.Store.Load(ctx, token, 7))
	// Output:
	// <nil>
	// ["cart-42"] <nil>
}
