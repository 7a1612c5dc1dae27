package shardingtest

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
)

// backends is a cluster of n nodes that host the type of the tests.
func backends(t *testing.T, n int) *ddatatest.Cluster {
	t.Helper()
	return ddatatest.NewCluster(t, n, func(_ int, c *ddata.Config) { c.Roles = []string{"backend"} })
}

// asks asks by a region until there is an answer.
func asks(t *testing.T, g *sharding.Region[command], id string) int {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ddatatest.Patience)
	defer cancel()
	n, err := sharding.Ask(ctx, g.Ref(id), total{})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// homeOf returns the number of the node that hosts an entity.
func homeOf(t *testing.T, c *ddatatest.Cluster, g *sharding.Region[command], id string) int {
	t.Helper()
	at, err := g.Where(context.Background(), id)
	i := slices.IndexFunc(c.Running(), func(i int) bool { return c.Node(i).UID() == at.Node })
	if err != nil || i < 0 {
		t.Fatal(at, err)
	}
	return c.Running()[i]
}

// Entities move when their node leaves or is killed, and to one that joins.
func TestRegions(t *testing.T) {
	both(t, func(t *testing.T) {
		c := backends(t, 3)
		typ := sumType(new(int), nil)
		regions := Regions(t, c, typ)
		for _, id := range []string{"a", "b", "c", "d"} {
			asks(t, regions[0], id)
		}
		home := homeOf(t, c, regions[0], "a")
		AwaitHosted(t, regions[2], "a", c.Node(home))
		AwaitActive(t, regions[2], "a")
		c.Kill(home)
		other := (home + 1) % 3
		asks(t, regions[other], "a")
		AwaitLocation(t, regions[other], "a", "it has moved", func(l sharding.Location) bool {
			return l.Node != 0 && l.Node != c.Node(home).UID()
		})
		RegionAt(t, c, c.Join(), typ)
		if more := Regions(t, c, typ); more[home] != nil || more[other] != regions[other] || len(more) != 4 {
			t.Error("the regions are others")
		}
	})
}

// A region stands still while its node is paused: it handles what came before when it goes on, if it is
// still a member, and nothing if it was removed.
func TestPausedRegion(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := backends(t, 3)
		typ := sumType(new(int), nil)
		var handled atomic.Int32
		typ.New = func(*sharding.Context[command]) sharding.Entity[command] {
			return receives(func(c *sharding.Context[command], m command) error {
				handled.Add(1)
				return c.Reply(0)
			})
		}
		regions := Regions(t, c, typ)
		asks(t, regions[0], "a")
		home := homeOf(t, c, regions[0], "a")
		other := (home + 1) % 3
		for _, long := range []bool{false, true} {
			before := handled.Load()
			c.Pause(home)
			answer := make(chan error, 1)
			go func() {
				_, err := sharding.Ask(context.Background(), regions[home].Ref("a"), total{})
				answer <- err
			}()
			<-time.After(100 * time.Millisecond)
			if handled.Load() != before {
				t.Error("a paused node handles messages")
			}
			if !long {
				c.Resume(home)
				if err := <-answer; err != nil {
					t.Error(err)
				}
				continue
			}
			c.AwaitMembers(2, other)
			asks(t, regions[other], "a")
			before = handled.Load()
			c.Resume(home)
			if err := <-answer; err == nil || handled.Load() != before {
				t.Errorf("the node that was removed has answered: %v", err)
			}
		}
	})
}

// A handler that runs while its node is paused, and removed, does not get its effects through: they wait
// for the end of the pause, and find the lease lapsed.
func TestPausedHandler(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := backends(t, 3)
		begun, goOn, effect := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		typ := sumType(new(int), nil)
		typ.New = func(*sharding.Context[command]) sharding.Entity[command] {
			return receives(func(c *sharding.Context[command], m command) error {
				if _, slow := m.(crash); !slow {
					return c.Reply(0)
				}
				close(begun)
				<-goOn
				effect <- c.Tell("b", total{})
				return nil
			})
		}
		regions := Regions(t, c, typ)
		asks(t, regions[0], "a")
		home := homeOf(t, c, regions[0], "a")
		if err := regions[home].Tell(t.Context(), "a", crash{}); err != nil {
			t.Fatal(err)
		}
		<-begun
		c.Pause(home)
		close(goOn)
		c.AwaitMembers(2, (home+1)%3)
		if len(effect) > 0 {
			t.Error("an effect has happened during the pause")
		}
		c.Resume(home)
		if err := <-effect; !errors.Is(err, sharding.ErrNoLease) && !errors.Is(err, sharding.ErrHandlerReturned) {
			t.Errorf("the effect after the pause: %v", err)
		}
	})
}

// Where an entity is not, is told.
func TestAwaitsFail(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := backends(t, 1)
		g := Regions(t, c, sumType(new(int), nil))[0]
		asks(t, g, "a")
		for _, await := range []func(TB){
			func(t TB) { AwaitActive(t, g, "b") },
			func(t TB) { AwaitHosted(t, g, "no", c.Node(0)) },
			func(t TB) { RegionAt(t, c, 0, sharding.EntityType[command]{}) },
		} {
			text := textOf(t, func(f *failing) { await(f) })
			if !contains(text, `entity "b" of "sum" it runs`, "last seen: ") &&
				!contains(text, `entity "no"`, "is hosted on 10.0.0.1:7946; last seen: shard") &&
				!contains(text, "node 0", "invalid entity type") {
				t.Error(text)
			}
		}
		c.Kill(0)
		if _, err := sharding.Ask(context.Background(), g.Ref("a"), total{}); !errors.Is(err, sharding.ErrStopped) {
			t.Error(err)
		}
	})
}
