package replicated_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/durablestate"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
)

// Add puts items into a cart, and is answered with how many there are.
type Add struct {
	sharding.Returns[Add, int]
	Count int
}

// Carts whose state needs nothing beside the nodes. A node with a directory (ddata.Config.Dir) has it on
// disk, too.
func ExampleOpen() {
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
	var store *replicated.Store
	if store, err = replicated.Open(node, "backend"); err != nil {
		fmt.Println(err)
		return
	}
	type effect = durablestate.Effect[Add, int]
	cartType, err := durablestate.Persist(sharding.EntityType[Add]{
		Identity: sharding.Identity{Name: "Cart", Role: "backend"},
		Messages: sharding.CBOR[Add](Add{}),
	}, durablestate.Behavior[Add, int]{
		States: store,
		Handle: func(_ *sharding.Context[Add], n int, m Add) (effect, error) {
			return effect{}.Persist(n + m.Count).ThenReply(func(n int) any { return n }), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	carts, err := sharding.Start(node, cartType)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sharding.Ask(ctx, carts.Ref("cart-42"), Add{Count: 2}))
	fmt.Println(sharding.Ask(ctx, carts.Ref("cart-42"), Add{Count: 3}))
	// Output:
	// 2 <nil>
	// 5 <nil>
}
