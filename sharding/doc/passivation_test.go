package doc_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// idle carts leave memory between 30 and 40 minutes after their last message.
var idle = passivation.Strategy{IdleTimeout: 30 * time.Minute, IdleInterval: 10 * time.Minute}

// bounded keeps 200,000 carts in memory on each node, those that were used last. It lets those go, too,
// that saw no message for an hour.
var bounded = passivation.Strategy{
	ActiveEntityLimit: 200_000, Replacement: passivation.LeastRecentlyUsed, IdleTimeout: time.Hour,
}

// popular keeps the carts that are used often, although many others are used once.
func popular() passivation.Strategy {
	s := passivation.DefaultStrategy()
	s.ActiveEntityLimit = 200_000
	return s
}

func withStrategy(s passivation.Strategy) sharding.EntityType[Command] {
	typ := carts
	typ.Passivation.Strategy = s
	return typ
}

func TestIdle(t *testing.T) {
	k := shardingtest.New(t, withStrategy(idle))
	if err := k.Tell("cart-1", AddItem{"apple", 1}); err != nil {
		t.Fatal(err)
	}
	k.Advance(29 * time.Minute)
	if !k.Active("cart-1") {
		t.Error("it went early")
	}
	k.Advance(12 * time.Minute)
	if k.Active("cart-1") {
		t.Error("it stays")
	}
}

// Two carts of one shard may be active here. The region says which one goes next, and why one has gone.
func TestLimit(t *testing.T) {
	s := bounded
	s.ActiveEntityLimit = 2
	typ := withStrategy(s)
	typ.Shards = 1
	k := shardingtest.New(t, typ)
	for i := range 3 {
		if err := k.Tell(fmt.Sprint("cart-", i), AddItem{"apple", 1}); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]string{ // order: each question is for itself
		"cart-0": "limit because its shard has room for 2",
		"cart-2": `it goes after 1h0m0s; of 2 active in its shard, with room for 2: main area, 2 of 2; "cart-1" goes next`,
	} {
		if got := explain(k.Region(), id); !strings.HasSuffix(got, want) {
			t.Errorf("%s\nit does not end with %s", got, want)
		}
	}
	if err := k.Region().SetActiveEntityLimit(1); err != nil {
		t.Fatal(err)
	}
	k.Advance(time.Second)
	if k.Active("cart-1") || !k.Active("cart-2") {
		t.Error("the limit was not lowered")
	}
}

// explain asks the node that hosts the cart.
func explain(carts *sharding.Region[Command], id string) string {
	return carts.ExplainPassivation(id).String()
}

func TestPopular(t *testing.T) {
	if err := popular().Validate(); err != nil {
		t.Error(err)
	}
	k := shardingtest.New(t, withStrategy(popular()))
	if err := k.Tell("cart-1", AddItem{"apple", 1}); err != nil || !k.Active("cart-1") {
		t.Error(err)
	}
}

// Checkout is the last message of a cart.
type Checkout struct{}

func (Checkout) command() {}

// expired is what a cart tells itself when nothing has come for long.
type expired struct{}

func (expired) command() {}

// BriefCart ends by itself: when it is paid, or a day after its last message.
type BriefCart struct{ Cart }

// Receive implements sharding.Entity.
func (cart *BriefCart) Receive(c *sharding.Context[Command], msg Command) error {
	switch msg.(type) {
	case Checkout, expired:
		return c.Passivate() // what waits in the mailbox is handled first
	}
	if err := c.SetReceiveTimeout(24*time.Hour, expired{}); err != nil {
		return err
	}
	return cart.Cart.Receive(c, msg)
}

var briefCarts = sharding.EntityType[Command]{
	Identity:    sharding.Identity{Name: "Cart", Role: "backend"},
	Messages:    sharding.CBOR[Command](AddItem{}, Total{}, Checkout{}, expired{}),
	Passivation: sharding.Passivation{Strategy: passivation.Strategy{None: true}},
	New:         func(*sharding.Context[Command]) sharding.Entity[Command] { return &BriefCart{} },
}

func TestBriefCart(t *testing.T) {
	k := shardingtest.New(t, briefCarts)
	for id, last := range map[string]Command{"paid": Checkout{}, "left": AddItem{"pear", 1}} { // order: none
		for _, m := range []Command{AddItem{"apple", 1}, last} {
			if err := k.Tell(id, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	if k.Active("paid") || !k.Active("left") {
		t.Error("a paid cart goes, and the other stays")
	}
	k.Advance(25 * time.Hour)
	if k.Active("left") || k.Stops("left") != 1 {
		t.Error("it stays a day later")
	}
}
