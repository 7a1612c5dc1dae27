// Command start keeps carts. Each start puts two more items into one of them.
package main

import (
	"context"
	"fmt"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/durablestate"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
)

// Add puts items into a cart, which answers with how many it holds.
type Add struct {
	sharding.Returns[Add, int]
	Items int
}

func main() {
	ctx := context.Background()
	node := must(ddata.Start(ctx, ddata.Config{Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Dir: "data"}))
	defer node.Leave(ctx)
	carts := must(sharding.Start(node, must(durablestate.Persist(sharding.EntityType[Add]{
		Identity: sharding.Identity{Name: "Cart", Role: ddata.DefaultRole}, Messages: sharding.CBOR[Add](Add{}),
	}, durablestate.Behavior[Add, int]{
		States: must(replicated.Open(node, ddata.DefaultRole)),
		Handle: func(_ *sharding.Context[Add], held int, m Add) (durablestate.Effect[Add, int], error) {
			return durablestate.Effect[Add, int]{}.Persist(held + m.Items).ThenReply(func(n int) any { return n }), nil
		},
	}))))
	fmt.Println("cart-42 holds", must(sharding.Ask(ctx, carts.Ref("cart-42"), Add{Items: 2})))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
