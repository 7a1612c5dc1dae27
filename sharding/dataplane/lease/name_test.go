package lease

import (
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata/locks"
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
