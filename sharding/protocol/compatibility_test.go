package protocol

import "testing"

// Nodes fit that have the same store of leases, or of which none takes leases.
func TestLeasesThatGetOn(t *testing.T) {
	const none, x, y = StoreID(""), StoreID("x"), StoreID("y")
	for _, c := range []struct {
		a, b StoreID
		fit  bool
	}{
		{none, none, true}, {x, x, true}, {x, x.announced(), true},
		{x.announced(), none, true}, {x.announced(), y.announced(), true},
		{x, none, false}, {x, y, false}, {x, y.announced(), false},
	} {
		of := func(shards, coordinator StoreID) Compatibility {
			return Compatibility{Shards: 10, Lease: shards, CoordinatorLease: coordinator}
		}
		for what, got := range map[string]bool{
			"shards": of(c.a, x).Fits(of(c.b, x)), "shards, the other way": of(c.b, x).Fits(of(c.a, x)),
			"the coordinator": of(x, c.a).Fits(of(x, c.b)),
		} {
			if got != c.fit {
				t.Errorf("stores %q and %q of %s fit: %t", c.a, c.b, what, got)
			}
		}
		if other := of(c.b, x); of(c.a, x).Fits(Compatibility{Shards: 20, Lease: other.Lease, CoordinatorLease: x}) {
			t.Error("types with other Shards fit")
		}
	}
}
