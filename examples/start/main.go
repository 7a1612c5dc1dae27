// Command start is the program of the README: a node, a replicated set, and shopping carts as
// entities.
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
)

// sessions is a key of the replicated data, with its type.
var sessions = ddata.NewKey[crdt.ORSet[string]]("sessions")

// Command is what a cart understands.
type Command interface{ command() }

// AddItem puts something into the cart.
type AddItem struct {
	Name  string
	Count int
}

// Total is a question, answered with an int.
type Total struct{ sharding.Returns[Command, int] }

func (AddItem) command() {}
func (Total) command()   {}

// Cart is an entity: each id lives on one node, and handles one command at a time. Its content is
// replicated data under a key of its own, so that it is there when the cart moves or the process
// starts again.
type Cart struct {
	data    *ddata.Replicator
	content ddata.Key[crdt.PNCounterMap[string]]
}

// Receive implements sharding.Entity.
func (c *Cart) Receive(ctx *sharding.Context[Command], msg Command) error {
	switch m := msg.(type) {
	case AddItem:
		add := func(items *crdt.PNCounterMapTx[string]) error { return items.Increment(m.Name, int64(m.Count)) }
		return ddata.Update(ctx, c.data, c.content, ddata.WriteMajority, add)
	case Total:
		items, err := ddata.Get(ctx, c.data, c.content, ddata.ReadMajority)
		if err != nil {
			return err
		}
		total := 0
		for _, count := range items.All() {
			total += int(count)
		}
		return ctx.Reply(total)
	}
	return nil
}

func main() {
	// A cluster of one. For three: the addresses of all three as Seeds, BootstrapExpect 3.
	total, err := run("127.0.0.1:7946", []string{"127.0.0.1:7946"}, "shop-data")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("cart-42 holds %d; with each start of this program two more\n", total)
}

func run(bind string, seeds []string, dir string) (total int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: bind, Seeds: seeds, BootstrapExpect: max(1, len(seeds)), Roles: []string{"backend"},
		Dir: dir, DurableKeys: []string{"sessions", "cart/*"},
	})
	if err != nil {
		return 0, err
	}
	defer node.Leave(ctx)
	go func() { // removed by the others: a service ends its process then, and is started again
		<-node.Done()
		log.Print(node.Err())
	}()

	// Replicated data: a consistency for each call, the deadline of ctx.
	data, err := node.Replicator("backend")
	if err != nil {
		return 0, err
	}
	add := func(s *crdt.ORSetTx[string]) error { return s.Add("alice") }
	if err := ddata.Update(ctx, data, sessions, ddata.WriteMajority, add); err != nil {
		return 0, err
	}
	set, err := ddata.Get(ctx, data, sessions, ddata.ReadMajority)
	if err != nil {
		return 0, err
	}
	fmt.Println("alice is here:", set.Contains("alice"))

	// Entities.
	carts, err := sharding.Start(node, sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Cart", Role: "backend", Shards: 100},
		Messages: sharding.CBOR[Command](AddItem{}, Total{}),
		New: func(ctx *sharding.Context[Command]) sharding.Entity[Command] {
			return &Cart{data: data, content: ddata.NewKey[crdt.PNCounterMap[string]]("cart/" + ctx.ID())}
		},
	})
	if err != nil {
		return 0, err
	}
	if err := carts.Tell(ctx, "cart-42", AddItem{"apple", 2}); err != nil {
		return 0, err
	}
	return sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
}
