package shardingtest_test

import (
	"errors"
	"testing"
	"time"

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
	if n, err := shardingtest.Ask(k, "cart-1", Total{}); n != 0 || errors.Is(err, sharding.ErrNoLease) {
		t.Fatalf("the cart has %d, %v", n, err)
	}
}
