// Command strategy chooses the homes of shards by a strategy of its own: the oldest node, which runs the
// coordinator and other singletons, gets no entities as long as there are others.
//
//	go run ./examples/strategy
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
)

// SpareOldest is an allocation strategy. It must be the same on all nodes.
type SpareOldest struct{}

// Allocate implements allocation.Strategy: the emptiest region that may have shards.
func (SpareOldest) Allocate(_ allocation.UID, _ allocation.ShardID, a *allocation.Allocations) (allocation.UID, bool) {
	oldest, others := split(a)
	if len(others) == 0 {
		return oldest.UID, oldest.UID != 0 // none: ask again later
	}
	emptiest := slices.MinFunc(others, func(x, y allocation.Region) int { return cmp.Compare(x.Count, y.Count) })
	return emptiest.UID, true
}

// Rebalance implements allocation.Strategy: what is on the oldest moves, some shards at a time. It has
// shards when it was alone, or when the node that was the oldest has left.
func (SpareOldest) Rebalance(a *allocation.Allocations, inProgress []allocation.ShardID) []allocation.ShardID {
	const most = 10
	oldest, others := split(a)
	if len(others) == 0 || len(inProgress) > 0 {
		return nil
	}
	shards := a.ShardsOf(oldest.UID)
	return shards[:min(len(shards), most)]
}

// split returns the oldest region, and the others. Those that are leaving are neither.
func split(a *allocation.Allocations) (oldest allocation.Region, others []allocation.Region) {
	for _, r := range a.Regions {
		if !r.Leaving {
			others = append(others, r)
		}
	}
	slices.SortFunc(others, func(x, y allocation.Region) int { return cmp.Compare(x.UpNumber, y.UpNumber) })
	if len(others) == 0 {
		return oldest, nil
	}
	return others[0], others[1:]
}

// Ping is answered with the name of the node.
type Ping struct{ sharding.Returns[Ping, string] }

// Echo is an entity.
type Echo string

// Receive implements sharding.Entity.
func (e Echo) Receive(ctx *sharding.Context[Ping], _ Ping) error { return ctx.Reply(string(e)) }

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// start starts the echoes on a node. They answer with which node it is.
func start(n *ddata.Node) (*sharding.Region[Ping], error) {
	name := "another node"
	if oldest, _ := n.View().Oldest("backend"); n.UID() == oldest.UID {
		name = "the oldest node"
	}
	return sharding.Start(n, sharding.EntityType[Ping]{
		Identity:   sharding.Identity{Name: "Echo", Role: "backend", Shards: 20},
		Messages:   sharding.CBOR[Ping](Ping{}),
		New:        func(*sharding.Context[Ping]) sharding.Entity[Ping] { return Echo(name) },
		Allocation: sharding.Allocation{Strategy: SpareOldest{}},
		// the first homes are chosen when all three are there to be chosen from
		Coordination: sharding.Coordination{MinRegions: 3},
	})
}

func run(out io.Writer) error {
	cfg := ddata.Config{Name: "spare", Roles: []string{"backend"}}
	return local.Run(3, cfg, start, func(ctx context.Context, _ []*ddata.Node, on []*sharding.Region[Ping]) error {
		answers := map[string]int{}
		for i := range 100 {
			name, err := sharding.Ask(ctx, on[i%3].Ref(fmt.Sprint("echo-", i)), Ping{})
			if err != nil {
				return err
			}
			answers[name]++
		}
		fmt.Fprintf(out, "of 100 entities %d are on the oldest node, and %d on the others\n",
			answers["the oldest node"], answers["another node"])
		return nil
	})
}
