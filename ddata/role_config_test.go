package ddata

import (
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/ddata/roles"
	"github.com/coterie-go/coterie/replicator/keyspace"
	"github.com/coterie-go/coterie/replicator/settings"
)

// What is said of a role holds for it, and nothing else for the others. Reserved data has the
// Replication of its role, and what is said of all roles.
func TestReplicationOfRoles(t *testing.T) {
	c := Config{
		WriteBehind: time.Second, RequestTimeout: 7 * time.Second, Expire: map[string]time.Duration{"a": time.Hour},
		Replication: settings.Config{PushFlight: 5, LogMax: 50, DigestSeed: 3},
		PerRole: map[string]roles.Config{
			"x": {WriteBehind: 2 * time.Second, Expire: map[string]time.Duration{"b": time.Minute},
				Replication: settings.Config{LogMax: 90}},
			"y": {WriteBehind: -1, Expire: map[string]time.Duration{}},
		},
	}
	for _, want := range []struct {
		role     string
		reserved bool
		log      int
		behind   time.Duration
		expires  string
	}{
		{"x", false, 90, 2 * time.Second, "b"}, {"x", true, 90, time.Second, ""},
		{"y", false, 50, 0, ""}, {"z", false, 50, time.Second, "a"}, {"z", true, 50, time.Second, ""},
	} {
		r := c.replication(keyspace.Dataset{Role: want.role, Reserved: want.reserved})
		expires := ""
		for k := range r.Expire { // order: one at most
			expires = k
		}
		if r.LogMax != want.log || r.WriteBehind != want.behind || expires != want.expires || r.PushFlight != 5 ||
			r.DigestSeed != 3 || r.OperationTimeout != 7*time.Second || r.Reserved != want.reserved {
			t.Errorf("%+v: %+v", want, r)
		}
	}
}

// Durable keys of a role are patterns of that role in the view, and need the level that has them.
func TestPatternsOfRoles(t *testing.T) {
	c := Config{Dir: "d", Roles: []string{"x", "y"}, DurableKeys: []string{"all"},
		PerRole: map[string]roles.Config{"x": {DurableKeys: []string{"own/*"}}, "z": {MinMembers: 2}}}.WithDefaults()
	if x, y := view.PatternsOf(c.DurableKeys, "x"), view.PatternsOf(c.DurableKeys, "y"); !slices.Contains(x, "own/*") ||
		!slices.Contains(x, "all") || slices.Contains(y, "own/*") || !slices.Contains(y, "all") {
		t.Errorf("x has %q, y %q", x, y)
	}
	if r := c.formats(); r.Min != format.RolePatterns {
		t.Errorf("it speaks %v", r)
	}
	if m := c.PerRole.MinMembers(); len(m) != 1 || m["z"] != 2 {
		t.Errorf("%v", m)
	}
	if !concerned(c.Roles, view.OfRole("x", "own/*")) || concerned(c.Roles, view.OfRole("z", "own/*")) ||
		!concerned(c.Roles, "all") {
		t.Error("it takes patterns of roles that it does not have for its own, or the other way round")
	}
	c.PerRole = nil
	if c = (Config{Roles: []string{"x"}}).WithDefaults(); c.formats().Min != format.Oldest {
		t.Errorf("without such keys it speaks %v", c.formats())
	}
}
