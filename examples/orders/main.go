// Command orders has orders that must not get lost: a producer delivers them to the entity of their
// customer until that has confirmed them, over failures of its handler and the death of its node. The
// entity keeps the number of the last order with its state, so that an order that comes again counts
// once.
//
//	go run ./examples/orders
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/examples/local"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// Command is what the entity of a customer understands.
type Command interface{ command() }

// The commands. Orders of a customer are numbered from 1.
type (
	Order struct {
		Number int
		Cents  int
	}
	Spent struct {
		sharding.Returns[Command, Account]
	}
)

func (Order) command() {}
func (Spent) command() {}

// Account is the state of a customer, which is in the replicated data.
type Account struct {
	Last  int // the number of the last order that counts
	Cents int
}

// Customer is an entity.
type Customer struct {
	data    *ddata.Replicator
	account ddata.Key[crdt.LWWRegister[Account]]
	state   Account
	known   bool
}

// Receive implements sharding.Entity. What it returns nil for is confirmed; after an error the order is
// delivered again.
func (c *Customer) Receive(ctx *sharding.Context[Command], cmd Command) error {
	if !c.known { // this incarnation has just begun, here or on another node
		stored, err := ddata.Get(ctx, c.data, c.account, ddata.ReadMajority)
		if err != nil {
			return err
		}
		c.state, _ = stored.Get()
		c.known = true
	}
	switch m := cmd.(type) {
	case Spent:
		return ctx.Reply(c.state)
	case Order:
		if m.Number <= c.state.Last {
			return nil // it came before, and the confirmation was lost
		}
		next := Account{m.Number, c.state.Cents + m.Cents}
		err := ddata.Update(ctx, c.data, c.account, ddata.WriteMajority, func(r *crdt.LWWRegisterTx[Account]) error {
			return r.Put(next)
		})
		if err != nil {
			c.known = false // whether it is written is not known: read again
			return err
		}
		c.state = next
	}
	return nil
}

// start starts the customers on a node.
func start(n *ddata.Node) (*sharding.Region[Command], error) {
	data, err := n.Replicator("shop")
	if err != nil {
		return nil, err
	}
	typ, err := delivery.Consume(sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Customer", Role: "shop"},
		Messages: sharding.CBOR[Command](Order{}, Spent{}),
		New: func(c *sharding.Context[Command]) sharding.Entity[Command] {
			return &Customer{data: data, account: ddata.NewKey[crdt.LWWRegister[Account]]("account/" + c.ID())}
		},
	}, delivery.ConsumerConfig{})
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
	cfg := ddata.Config{Name: "shop", Roles: []string{"shop"}}
	return local.Run(4, cfg, start, func(
		ctx context.Context, nodes []*ddata.Node, regions []*sharding.Region[Command],
	) error {
		// The front is on the first node; the customer is wherever its shard is. With a Queue in Config the
		// producer would not forget its orders when its own process dies.
		front, err := delivery.NewProducer(regions[0], delivery.Config{ID: "front"})
		if err != nil {
			return err
		}
		defer front.Close()
		const orders = 100
		for i := range orders {
			if err := front.Send(ctx, "alice", Order{Number: i + 1, Cents: 150}); err != nil {
				return err
			}
			if i == orders/2 { // a node dies in the middle: it may be that of alice
				if err := nodes[3].Close(); err != nil {
					return err
				}
			}
		}
		if err := front.Flush(ctx); err != nil { // all are confirmed
			return err
		}
		a, err := sharding.Ask(ctx, regions[0].Ref("alice"), Spent{})
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "alice has made %d orders, and spent %d cents\n", a.Last, a.Cents)
		return nil
	})
}
