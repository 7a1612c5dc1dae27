package drill

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/examples/seats"
	"github.com/coterie-go/coterie/proptest/bubble"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/shardingtest"
)

// A node is paused between the two calls of a handler. Another node sells the seat meanwhile, and is killed then.
func TestPauseAndKill(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := ddatatest.NewCluster(t, 4, func(_ int, c *ddata.Config) { c.Roles = []string{"box"} })
		office, calls, caller, looked := &seats.Office{}, new(atomic.Int32), new(atomic.Int32), make(chan int)
		regions, goOn, late := []*sharding.Region[seats.Command]{}, make(chan struct{}), make(chan error, 1)
		for i := range 4 {
			link := func(_ context.Context, do func() error) (err error) {
				caller.Store(int32(i))
				if calls.Add(1) == 2 {
					looked <- i
					<-goOn
					defer func() { late <- err }()
				}
				return do()
			}
			regions = append(regions, shardingtest.RegionAt(t, c, i, seats.Shows(office, link)))
		}
		reserve := func(guest, want string, without ...int) {
			for i, r := range regions {
				if !slices.Contains(without, i) {
					got, err := sharding.Ask(t.Context(), r.Ref("hamlet"), seats.Reserve{Guest: guest})
					if err != nil || got != want {
						t.Errorf("by node %d %q has the seat, want %q: %v", i, got, want, err)
					}
				}
			}
		}
		if err := regions[0].Tell(t.Context(), "hamlet", seats.Reserve{Guest: "ann"}); err != nil {
			t.Fatal(err)
		}
		paused := <-looked
		c.Pause(paused)
		c.AwaitMembers(3, (paused+1)%4, (paused+2)%4, (paused+3)%4)
		reserve("bob", "bob", paused)
		close(goOn)
		if err := <-late; err != seats.ErrFenced {
			t.Errorf("the office has answered %v to the node that was paused", err)
		}
		killed := int(caller.Load())
		c.Kill(killed)
		reserve("eve", "bob", paused, killed)
	})
}
