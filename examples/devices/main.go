// Command devices has an entity for each device that reports a temperature. Only those that report keep
// memory: a device that is silent for a while is passivated, and so are the oldest when there are too
// many. Its last words come from the store of its state when somebody asks.
//
//	go run ./examples/devices
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/durablestate"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/persistence/replicated"
)

// Command is what a device understands.
type Command interface{ command() }

// The commands.
type (
	Report struct {
		sharding.Returns[Command, int]
		Celsius float64
	}
	Read struct {
		sharding.Returns[Command, Device]
	}
)

func (Report) command() {}
func (Read) command()   {}

// Device is the state of an entity.
type Device struct {
	Reports int
	Highest float64
}

type effect = durablestate.Effect[Command, Device]

// handle decides about a command: what the next state is, and what is answered when it is stored.
func handle(c *sharding.Context[Command], d Device, cmd Command) (effect, error) {
	switch m := cmd.(type) {
	case Report:
		d.Reports++
		d.Highest = max(d.Highest, m.Celsius)
		return effect{}.Persist(d).ThenReply(func(d Device) any { return d.Reports }), nil
	case Read:
		return effect{}, c.Reply(d)
	}
	return effect{}, fmt.Errorf("unknown command %T", cmd)
}

// activeMax is how many devices a node keeps in memory.
const activeMax = 100

// start starts the devices on a node. Their states are in the replicated data of the nodes.
func start(n *ddata.Node) (*sharding.Region[Command], error) {
	states, err := replicated.Open(n, "backend")
	if err != nil {
		return nil, err
	}
	typ, err := durablestate.Persist(sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Device", Role: "backend"},
		Messages: sharding.CBOR[Command](Report{}, Read{}),
		Passivation: sharding.Passivation{Strategy: passivation.Strategy{
			ActiveEntityLimit: activeMax, Replacement: passivation.LeastRecentlyUsed, IdleTimeout: 10 * time.Minute,
		}},
	}, durablestate.Behavior[Command, Device]{States: states, Handle: handle})
	if err != nil {
		return nil, err
	}
	return sharding.Start(n, typ)
}

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	cfg := ddata.Config{Name: "devices", Roles: []string{"backend"}}
	return local.Run(3, cfg, start, func(ctx context.Context, _ []*ddata.Node, on []*sharding.Region[Command]) error {
		devices := on[0]
		const many = 1000
		for i := range many {
			id, report := fmt.Sprint("device-", i), Report{Celsius: float64(i % 40)}
			if _, err := sharding.Ask(ctx, devices.Ref(id), report); err != nil {
				return err
			}
		}
		for i, g := range on {
			few := g.Stats().Active <= activeMax
			fmt.Fprintf(out, "node %d has at most %d of %d devices in memory: %t\n", i+1, activeMax, many, few)
		}

		d, err := sharding.Ask(ctx, devices.Ref("device-7"), Read{})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "device-7 starts again for a question: %d report, at most %.0f degrees\n", d.Reports,
			d.Highest)
		return nil
	})
}
