package durablestate_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/durablestate"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
)

// Command is what carts understand.
type Command interface{ command() }

// Add puts an item into the cart, and is answered with how many there are.
type Add struct {
	sharding.Returns[Command, int]
	Item string
}

// CheckOut empties the cart.
type CheckOut struct {
	sharding.Returns[Command, []string]
}

func (Add) command()      {}
func (CheckOut) command() {}

// Cart is the state.
type Cart struct{ Items []string }

type effect = durablestate.Effect[Command, Cart]

func handle(_ *sharding.Context[Command], cart Cart, cmd Command) (effect, error) {
	switch cmd := cmd.(type) {
	case Add:
		next := Cart{Items: append(slices.Clip(cart.Items), cmd.Item)}
		return effect{}.Persist(next).ThenReply(func(c Cart) any { return len(c.Items) }), nil
	case CheckOut:
		return effect{}.Delete().ThenReply(func(Cart) any { return cart.Items }), nil
	}
	return effect{}, nil
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

	cartType, err := durablestate.Persist(sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Cart", Role: "backend"},
		Messages: sharding.CBOR[Command](Add{}, CheckOut{}),
	}, durablestate.Behavior[Command, Cart]{
		States: &memory.Store{}, // for tests: a program takes one that outlives it
		Handle: handle,
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
	cart := carts.Ref("cart-42")
	for _, item := range []string{"apple", "pear"} {
		fmt.Println(sharding.Ask(ctx, cart, Add{Item: item}))
	}
	fmt.Println(sharding.Ask(ctx, cart, CheckOut{}))
	fmt.Println(sharding.Ask(ctx, cart, Add{Item: "plum"}))
	// Output:
	// 1 <nil>
	// 2 <nil>
	// [apple pear] <nil>
	// 1 <nil>
}

// A state that cannot be stored is a failure of the entity, with its cause. The asker gets an error, and the
// next message makes the entity again, from what is stored.
func ExampleFailure() {
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

	full := errors.New("the disk is full")
	states, failed := &memory.Store{}, make(chan error, 1)
	states.Before(func(_ context.Context, call string) error {
		if call == "SaveStates" {
			return full
		}
		return nil
	})
	cartType, err := durablestate.Persist(sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Cart", Role: "backend"},
		Messages: sharding.CBOR[Command](Add{}, CheckOut{}),
		OnEvent: func(e events.Event) {
			if e, ok := e.(sharding.Failure); ok {
				failed <- e.Err
			}
		},
	}, durablestate.Behavior[Command, Cart]{
		States: states, Handle: handle,
		Calls: batch.Settings{GiveUpAfter: 100 * time.Millisecond}, // a call is repeated until then
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
	_, err = sharding.Ask(ctx, carts.Ref("cart-42"), Add{Item: "apple"})
	fmt.Println(errors.Is(err, sharding.ErrHandler))
	var why *durablestate.Failure
	fmt.Println(errors.As(<-failed, &why), why.Entity, errors.Is(why, full))
	// Output:
	// true
	// true "cart-42" true
}
