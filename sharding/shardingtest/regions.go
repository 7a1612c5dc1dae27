package shardingtest

import (
	"context"
	"fmt"
	"slices"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding"
)

// Regions starts a type on all running nodes of a cluster, as sharding.Start does. The regions stand still
// while their node is paused. That of a node has its number; that of a node that does not run is nil.
func Regions[M any](t TB, c *ddatatest.Cluster, typ sharding.EntityType[M]) []*sharding.Region[M] {
	t.Helper()
	all := make([]*sharding.Region[M], c.Len())
	for _, i := range c.Running() {
		all[i] = RegionAt(t, c, i, typ)
	}
	return all
}

// RegionAt starts a type on one node of a cluster: on one that has joined, or was started again.
func RegionAt[M any](t TB, c *ddatatest.Cluster, i int, typ sharding.EntityType[M]) *sharding.Region[M] {
	t.Helper()
	h := c.Host(i)
	g, err := sharding.StartAt(h, typ, !slices.Contains(h.Self.Roles, typ.Role))
	if err != nil {
		t.Fatalf("shardingtest: node %d: %v", i, err)
	}
	return g
}

// AwaitHosted waits until the shard of an entity is hosted on a node. It starts nothing: a shard that was
// never used has no home.
func AwaitHosted[M any](t TB, g *sharding.Region[M], id string, on *ddata.Node) {
	t.Helper()
	AwaitLocation(t, g, id, fmt.Sprintf("its shard is hosted on %s", on.Addr()), func(l sharding.Location) bool {
		return l.Node == on.UID()
	})
}

// AwaitActive waits until an entity runs, on whatever node.
func AwaitActive[M any](t TB, g *sharding.Region[M], id string) {
	t.Helper()
	AwaitLocation(t, g, id, "it runs", func(l sharding.Location) bool { return l.Active })
}

// AwaitLocation waits until an entity is where it is wanted, as a region knows or is told. what says where
// that is, for the text of a failure.
func AwaitLocation[M any](t TB, g *sharding.Region[M], id, what string, want func(sharding.Location) bool) {
	t.Helper()
	ddatatest.Eventually(t, fmt.Sprintf("of entity %q of %q %s", id, g.Name(), what), func() error {
		at, err := g.Where(context.Background(), id)
		switch {
		case err != nil:
			return err
		case !want(at):
			return fmt.Errorf("%v", at)
		}
		return nil
	})
}
