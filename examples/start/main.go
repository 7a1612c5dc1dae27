// Command start is the program of the README: a node, a replicated set, and shopping carts as entities.
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
type Total struct{ sharding.Returns[int] }

func (AddItem) command() {}
func (Total) command()   {}

// Cart is an entity: each id lives on one node, and handles one command at a time.
type Cart struct{ count int }

// Receive implements sharding.Entity.
func (c *Cart) Receive(ctx *sharding.Context[Command], msg Command) error {
	switch m := msg.(type) {
	case AddItem:
		c.count += m.Count
	case Total:
		return ctx.Reply(c.count)
	}
	return nil
}

func main() {
	// A cluster of one. For three: the addresses of all three as Seeds, BootstrapExpect 3.
	if err := run("127.0.0.1:7946", []string{"127.0.0.1:7946"}, "shop-data"); err != nil {
		log.Fatal(err)
	}
}

func run(bind string, seeds []string, dir string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: bind, Seeds: seeds, BootstrapExpect: max(1, len(seeds)), Roles: []string{"backend"}, Dir: dir,
	})
	if err != nil {
		return err
	}
	defer node.Leave(10 * time.Second)
	go func() { // removed by the others: a service ends its process then, and is started again
		<-node.Done()
		log.Print(node.Err())
	}()

	// Replicated data: a consistency for each call, the deadline of ctx.
	data, err := node.Replicator("backend")
	if err != nil {
		return err
	}
	add := func(s *crdt.ORSetTx[string]) error { return s.Add("alice") }
	if err := ddata.Update(ctx, data, sessions, ddata.WriteMajority, add); err != nil {
		return err
	}
	set, err := ddata.Get(ctx, data, sessions, ddata.ReadMajority)
	if err != nil {
		return err
	}

	// Entities.
	carts, err := sharding.Start(node, sharding.EntityType[Command]{
		Name: "Cart", Role: "backend", Shards: 100, RememberEntities: true,
		Messages: sharding.CBOR[Command](AddItem{}, Total{}),
		New:      func(*sharding.Context[Command]) sharding.Entity[Command] { return &Cart{} },
	})
	if err != nil {
		return err
	}
	if err := carts.Tell(ctx, "cart-42", AddItem{"apple", 2}); err != nil {
		return err
	}
	total, err := sharding.Ask(ctx, carts, "cart-42", Total{})
	if err != nil {
		return err
	}
	fmt.Printf("alice is here: %t; cart-42 holds %d\n", set.Contains("alice"), total)
	return nil
}
