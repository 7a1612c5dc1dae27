package sharding_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Settings are grouped by subject, and each field has a default.
func ExampleEntityType() {
	shop(func(t *sharding.EntityType[Command]) {
		t.Passivation = sharding.Passivation{Strategy: passivation.Strategy{IdleTimeout: 10 * time.Minute}}
		t.Remember = sharding.Remember{Recovery: sharding.Recovery{Number: 100, Interval: time.Second}}
		t.Rebalance = sharding.Rebalance{Interval: time.Minute, Delay: 2 * time.Minute}
		t.HandOff = sharding.HandOff{StopTimeout: 5 * time.Second}
		t.Coordination = sharding.Coordination{MinRegions: 1}
		t.Quorums = sharding.Quorums{WritePlus: 1, WriteTimeout: 3 * time.Second}
		t.Timeouts = sharding.Timeouts{Ask: 3 * time.Second, HandlerSlow: time.Second}
		t.Limits = sharding.Limits{MailboxMax: 1000, Workers: 8}
		t.Errors = []error{errors.ErrUnsupported}
		fmt.Println(t.Validate())
	}, func(context.Context, *ddata.Node, *sharding.Region[Command]) error { return nil })
	// Output: <nil>
}

// A region counts what it does.
func ExampleStats() {
	shop(func(*sharding.EntityType[Command]) {},
		func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
			for _, id := range []string{"cart-1", "cart-2"} {
				if _, err := sharding.Ask(ctx, carts.Ref(id), Total{}); err != nil {
					return err
				}
			}
			var s sharding.Stats = carts.Stats()
			fmt.Println(s.Active, "active in", s.Shards, "shard")
			for _, d := range s.Drops {
				var count sharding.DropCount = d
				fmt.Println("lost:", count)
			}
			for _, p := range s.Passivated {
				var count sharding.PassivationCount = p
				fmt.Println("passivated:", count)
			}
			return nil
		})
	// Output: 2 active in 1 shard
}

// One node is asked for what runs there.
func ExampleRegionState() {
	shop(func(*sharding.EntityType[Command]) {},
		func(ctx context.Context, node *ddata.Node, carts *sharding.Region[Command]) error {
			if _, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{}); err != nil {
				return err
			}
			var there sharding.RegionState
			there, err := carts.State(ctx, node.UID())
			for _, s := range there.Shards {
				var shard sharding.ShardState = s
				fmt.Println("shard", shard.Shard, "has", shard.IDs)
			}
			at, err2 := carts.Where(ctx, "cart-42", sharding.LookHere) // asks no other node
			fmt.Println(at.Active)
			return errors.Join(err, err2)
		})
	// Output:
	// shard 0 has [cart-42]
	// true
}

// One cart may be active. A region knows its last passivations, and why they were.
func ExamplePassivated() {
	saved := make(chan string, 2)
	shop(func(t *sharding.EntityType[Command]) {
		t.Passivation.Strategy = passivation.Strategy{ActiveEntityLimit: 1}
		t.New = func(*sharding.Context[Command]) sharding.Entity[Command] { return &saver{saved: saved} }
	}, func(ctx context.Context, _ *ddata.Node, carts *sharding.Region[Command]) error {
		for _, id := range []string{"cart-1", "cart-2"} {
			if err := carts.Tell(ctx, id, AddItem{"apple", 1}); err != nil {
				return err
			}
			// an answer says that it runs, before the next one begins
			if _, err := sharding.Ask(ctx, carts.Ref(id), Total{}); err != nil {
				return err
			}
		}
		fmt.Println(<-saved)
		var last sharding.Passivated = carts.ExplainPassivation("cart-1").Last[0]
		fmt.Println(last.ID, "was passivated:", last.Cause)
		return nil
	})
	// Output:
	// cart-1 with 1 items
	// cart-1 was passivated: limit
}

// OnEvent tells of what the control plane does: homes, moves, alarms.
func ExampleEvent() {
	begun := make(chan string, 1)
	shop(func(t *sharding.EntityType[Command]) {
		t.OnEvent = func(e events.Event) {
			if e, ok := e.(sharding.Event); ok && e.What.Kind == protocol.CoordinatorStarted {
				begun <- e.Type
			}
		}
	}, func(context.Context, *ddata.Node, *sharding.Region[Command]) error {
		fmt.Println("the coordinator is on this node for", <-begun)
		return nil
	})
	// Output: the coordinator is on this node for Cart
}
