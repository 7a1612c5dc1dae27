package protocol

import (
	"testing"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

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

// Nodes are told that their leases differ apart from why they do not fit: leases that get on are no reason for that.
func TestLeasesThatGetOnAreNoDifference(t *testing.T) {
	const x = StoreID("x")
	own := Compatibility{Shards: 10, Lease: x, CoordinatorLease: x}
	theirs := Compatibility{Shards: 10, Lease: x.announced(), CoordinatorLease: x.announced()}
	if d := own.Differences(theirs, "there"); d != "" {
		t.Errorf("nodes that fit differ: %s", d)
	}
	theirs.Shards = 20
	if d := own.Differences(theirs, "there"); d != "Shards is 10 here and 20 there" {
		t.Errorf("refused because %s", d)
	}
	if d := own.LeaseDifferences(theirs, "there"); d != "Leases.Shards is store x here and store announced: x there; "+
		"Leases.Coordinator is store x here and store announced: x there" {
		t.Errorf("leases: %s", d)
	}
	theirs.Lease, theirs.CoordinatorLease = "", x
	if d := own.Differences(theirs, "there"); d != "Shards is 10 here and 20 there; "+
		"Leases.Shards is store x here and not set there" {
		t.Errorf("refused because %s", d)
	}
}

// Another strategy, or another store of states, is refused where it matters, and if both have told it.
func TestStrategiesThatGetOn(t *testing.T) {
	const role = "r"
	of := func(strategy string, changing bool, store StoreID) Compatibility {
		return Compatibility{Role: role, Shards: 10, Strategy: strategy, Changing: changing, StateStore: store}
	}
	for name, c := range map[string]struct { // order: each is compared by itself
		own, theirs   Compatibility
		proxy, noRole bool
		refused       bool
	}{
		"the same":                  {own: of("a", false, "x"), theirs: of("a", false, "x")},
		"another":                   {own: of("a", false, "x"), theirs: of("b", false, "x"), refused: true},
		"another, which is new":     {own: of("a", false, "x"), theirs: of("b", true, "x")},
		"another, which was before": {own: of("a", true, "x"), theirs: of("b", false, "x")},
		"both are new":              {own: of("a", true, "x"), theirs: of("b", true, "x")},
		"the last step":             {own: of("a", true, "x"), theirs: of("a", false, "x")},
		"nothing is told":           {own: of("a", false, "x"), theirs: of("", false, "")},
		"another, on a proxy": {
			own: of("a", false, "x"), theirs: of("b", false, ""), proxy: true, refused: true,
		},
		"another, without the role": {
			own: of("a", false, "x"), theirs: of("b", false, ""), proxy: true, noRole: true,
		},
		"another store":                {own: of("a", false, "x"), theirs: of("a", false, "y"), refused: true},
		"no store":                     {own: of("a", false, "x"), theirs: of("a", false, ""), refused: true},
		"another store, on a proxy":    {own: of("a", false, "x"), theirs: of("a", false, "y"), proxy: true},
		"another store, while changed": {own: of("a", true, "x"), theirs: of("b", true, "y"), refused: true},
	} {
		m := view.Member{Roles: []string{role}}
		if c.noRole {
			m.Roles = nil
		}
		own := c.own.ForRegion(c.theirs, m, role, c.proxy)
		if got := !own.Fits(c.theirs); got != c.refused {
			t.Errorf("%s: refused is %t: %s", name, got, own.Differences(c.theirs, "there"))
		}
	}
	untold := of("", false, "")
	own := of("a", false, "x")
	if d := own.Differences(untold.ForRegion(own, view.Member{Roles: []string{role}}, role, false), "there"); d != "" {
		t.Errorf("what a coordinator has not told differs: %s", d)
	}
}

// Only a view whose members all read it has a region tell its strategy.
func TestStrategiesAreToldOfALevel(t *testing.T) {
	a := Config{Identity: Identity{Name: "t"}, StateStore: "x"}.WithDefaults().Compatibility()
	for l, told := range map[format.Level]bool{format.Initial: false, format.Headers: true, format.Headers + 1: true} {
		got := a.ReadBy(&view.View{Format: l})
		if (got == a) != told || (got.Strategy == "allocation.LeastShard" && got.StateStore == "x") != told {
			t.Errorf("level %d: %v", l, got)
		}
	}
	if got := a.ReadBy(nil); got.Strategy != "" {
		t.Errorf("without a view: %v", got)
	}
}
