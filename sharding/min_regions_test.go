package sharding

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/roles"
)

// A type waits for as many regions as its role has members at least. A type that says otherwise does not.
func TestMinMembersOfARoleAreItsRegions(t *testing.T) {
	nodes := ddatatest.StartWith(t, 2, func(_ int, c *ddata.Config) {
		c.Roles, c.PerRole = []string{"backend"}, map[string]roles.Config{"backend": {MinMembers: 2}}
	})
	if o, ok := nodes[0].View().Oldest("backend"); !ok || o.UID != nodes[0].UID() { // the coordinator is there
		slices.Reverse(nodes)
	}
	ctx := within(t, time.Minute)
	var log cartLog
	first := func(name string, minRegions int) *Region[message_] {
		typ := cartType(&log)
		typ.Name, typ.Coordination.MinRegions = name, minRegions
		r, err := Start(nodes[0], typ)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	alone, waits := first("Alone", 1), first("Waits", 0)
	if _, err := alone.StartEntity(ctx, "cart"); err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if at, err := waits.StartEntity(short, "cart"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("with one region an entity starts at %v (%v)", at, err)
	}
	typ := cartType(&log)
	typ.Name = "Waits"
	if _, err := Start(nodes[1], typ); err != nil {
		t.Fatal(err)
	}
	if _, err := waits.StartEntity(ctx, "cart"); err != nil {
		t.Fatal(err)
	}
}
