package shardingtest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// This is all that a test of a user's entity needs.
func TestCart(t *testing.T) {
	k := shardingtest.New(t, cartType)
	if err := k.Tell("cart-1", AddItem{Count: 2}); err != nil {
		t.Fatal(err)
	}
	k.Advance(23 * time.Hour)
	if n, err := shardingtest.Ask(k, "cart-1", Total{}); n != 2 || err != nil {
		t.Fatalf("the cart has %d, %v", n, err)
	}
	k.LoseLease() // the order is due while the node is cut off
	k.Advance(25 * time.Hour)
	if sent := k.Others().Sent(); len(sent) != 0 {
		t.Fatalf("without the lease it has sent %v", sent)
	}
	k.RegainLease()
	if sent := k.Others().Sent(); len(sent) != 1 || sent[0].Msg != (Order{2}) {
		t.Fatalf("it has sent %v", sent)
	}
	k.Restart()
	if n, err := shardingtest.Ask(k, "cart-1", Total{}); n != 0 || err != nil {
		t.Fatalf("the cart has %d, %v", n, err)
	}
}

// On three nodes: a cart answers again when its node is killed.
func TestCartOnThreeNodes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 3, func(_ int, c *ddata.Config) { c.Roles = []string{"backend"} })
		carts := shardingtest.Regions(t, c, cartType)
		if err := carts[0].Tell(t.Context(), "cart-1", AddItem{Count: 2}); err != nil {
			t.Fatal(err)
		}
		shardingtest.AwaitActive(t, carts[0], "cart-1")
		home, err := carts[0].Where(t.Context(), "cart-1")
		if err != nil {
			t.Fatal(err)
		}
		killed := slices.IndexFunc(c.Running(), func(i int) bool { return c.Node(i).UID() == home.Node })
		c.Kill(killed)
		other := c.Running()[0]
		if n, err := sharding.Ask(t.Context(), carts[other].Ref("cart-1"), Total{}); n != 0 || err != nil {
			t.Fatalf("the cart has %d, %v: it stores nothing", n, err)
		}
	})
}
