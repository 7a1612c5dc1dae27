package main

import (
	"errors"
	"fmt"
	"maps"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Command is what a cart understands. Each command is answered with the cart as it is then.
type Command interface{ command() }

// The commands.
type (
	Add struct {
		sharding.Returns[Command, Cart]
		Item  string
		Count int
	}
	CheckOut struct {
		sharding.Returns[Command, Cart]
	}
	Show struct {
		sharding.Returns[Command, Cart]
	}
)

func (Add) command()      {}
func (CheckOut) command() {}
func (Show) command()     {}

// Changed is the event of a cart.
type Changed struct {
	Item       string `cbor:"1,keyasint,omitempty"`
	Count      int    `cbor:"2,keyasint,omitempty"`
	CheckedOut bool   `cbor:"3,keyasint,omitempty"`
}

// Cart is the state: the sum of the events.
type Cart struct {
	Items      map[string]int `json:"items"`
	CheckedOut bool           `json:"checkedOut"`
}

// Errors that reach the caller as themselves, whatever node the cart is on.
var (
	ErrCheckedOut = errors.New("the cart is checked out")
	ErrCount      = errors.New("the count must be positive")
)

type effect = eventsourced.Effect[Command, Changed, Cart]

// handle decides about a command. The reply goes out when the event is stored.
func handle(c *sharding.Context[Command], cart Cart, cmd Command) (effect, error) {
	reply := func(cart Cart) any { return cart }
	switch m := cmd.(type) {
	case Show:
		return effect{}, c.Reply(cart)
	case Add:
		if m.Count < 1 {
			return effect{}, c.Fail(ErrCount)
		}
		if cart.CheckedOut {
			return effect{}, c.Fail(ErrCheckedOut)
		}
		return effect{}.Persist(Changed{Item: m.Item, Count: m.Count}).ThenReply(reply), nil
	case CheckOut:
		if cart.CheckedOut {
			return effect{}, c.Reply(cart)
		}
		return effect{}.Persist(Changed{CheckedOut: true}).ThenReply(reply), nil
	}
	return effect{}, fmt.Errorf("unknown command %T", cmd)
}

// apply returns the cart after an event. It does not change the cart before: others may read it.
func apply(cart Cart, e Changed) Cart {
	if e.CheckedOut {
		cart.CheckedOut = true
		return cart
	}
	items := maps.Clone(cart.Items)
	if items == nil {
		items = map[string]int{}
	}
	items[e.Item] += e.Count
	return Cart{Items: items}
}

// cartType is the entity type, over a journal of its events.
func cartType(journal persistence.Journal) (sharding.EntityType[Command], error) {
	return eventsourced.Persist(sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Cart", Role: "shop"},
		Messages: sharding.CBOR[Command](Add{}, CheckOut{}, Show{}),
		Errors:   []error{ErrCheckedOut, ErrCount},
	}, eventsourced.Behavior[Command, Changed, Cart]{
		Journal:  journal,
		Events:   schema.CBOR(schema.Type("Changed", Changed{})),
		Handle:   handle,
		Apply:    apply,
		Snapshot: eventsourced.Snapshot[Cart]{Every: 50},
	})
}
