package sharding_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// Command is what carts understand.
type Command interface{ cartCommand() }

// AddItem puts something into the cart.
type AddItem struct {
	Name  string
	Count int
}

// Total asks how many things are in the cart.
type Total struct{ sharding.Returns[Command, int] }

func (AddItem) cartCommand() {}
func (Total) cartCommand()   {}

// Cart is an entity.
type Cart struct{ count int }

// Receive handles one command at a time.
func (c *Cart) Receive(ctx *sharding.Context[Command], msg Command) error {
	switch m := msg.(type) {
	case AddItem:
		c.count += m.Count
	case Total:
		return ctx.Reply(c.count)
	}
	return nil
}

func Example() {
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

	carts, err := sharding.Start(node, sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Cart", Role: "backend", Shards: 100},
		Messages: sharding.CBOR[Command](AddItem{}, Total{}),
		New:      func(*sharding.Context[Command]) sharding.Entity[Command] { return &Cart{} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := carts.Tell(ctx, "cart-42", AddItem{"apple", 2}); err != nil {
		fmt.Println(err)
	}
	total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
	fmt.Println(total, err)
	// Output: 2 <nil>
}

// The cluster is asked where an entity is, which does not start it.
func ExampleRegion_Where() {
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
	carts, err := sharding.Start(node, sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Cart", Role: "backend", Shards: 100},
		Messages: sharding.CBOR[Command](AddItem{}, Total{}),
		New:      func(*sharding.Context[Command]) sharding.Entity[Command] { return &Cart{} },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := carts.StartEntity(ctx, "cart-42"); err != nil {
		fmt.Println(err)
	}
	for _, id := range []string{"cart-42", "cart-43"} {
		at, err := carts.Where(ctx, id)
		fmt.Println(id, at.Active, err)
	}
	n, failed := carts.TotalActive(ctx)
	fmt.Println(n, len(failed))
	// Output:
	// cart-42 true <nil>
	// cart-43 false <nil>
	// 1 0
}
