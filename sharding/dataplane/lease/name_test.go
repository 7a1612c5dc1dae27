package lease

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Names of leases differ, and fit into what a store takes.
func TestLeaseNames(t *testing.T) {
	if got := ShardName("shop", "Cart", 7); got != "shard/shop/Cart/7" {
		t.Error(got)
	}
	long := strings.Repeat("ü", 64)
	seen := map[string]bool{}
	for _, cluster := range []string{"a", long, long + "x", "a/" + long} {
		for _, typ := range []string{long, long[2:] + "yy", long[:126]} {
			for _, n := range []uint32{0, 1, 999_999} {
				name := ShardName(cluster, typ, n)
				if err := locks.CheckName(name); err != nil || seen[name] {
					t.Errorf("%q: %v, again %t", name, err, seen[name])
				}
				seen[name] = true
			}
		}
	}
}

type named string

func (n named) ID() string { return string(n) }

// Nodes compare a store by its ID, or by its type if it has none.
func TestStoreID(t *testing.T) {
	long := named(strings.Repeat("ü", 100))
	for _, c := range []struct {
		store any
		want  protocol.StoreID
	}{
		{nil, ""}, {locks.Store(nil), ""}, {named("db-1"), "db-1"}, {named(""), ""},
		{&strings.Builder{}, "*strings.Builder"},
	} {
		if got := StoreID(c.store); got != c.want {
			t.Errorf("%v: %q, want %q", c.store, got, c.want)
		}
	}
	a, b := StoreID(long+"a"), StoreID(long+"b")
	if a == b || len(a) > protocol.StoreMax || len(b) > protocol.StoreMax {
		t.Errorf("long IDs become %q and %q", a, b)
	}
}
