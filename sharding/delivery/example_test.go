package delivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
)

// Booking is what accounts understand.
type Booking interface{ booking() }

// Deposit must not get lost, nor be booked twice.
type Deposit struct{ Cents int }

// Balance asks for the sum.
type Balance struct{ sharding.Returns[Booking, int] }

func (Deposit) booking() {}
func (Balance) booking() {}

// Account is an entity.
type Account struct{ cents int }

// Receive handles one booking; returning nil confirms a delivered one.
func (a *Account) Receive(c *sharding.Context[Booking], b Booking) error {
	switch b := b.(type) {
	case Deposit:
		a.cents += b.Cents
	case Balance:
		return c.Reply(a.cents)
	}
	return nil
}

func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "bank", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	accountType, err := delivery.Consume(sharding.EntityType[Booking]{
		Identity: sharding.Identity{Name: "Account", Role: "backend"},
		Messages: sharding.CBOR[Booking](Deposit{}, Balance{}),
		New:      func(*sharding.Context[Booking]) sharding.Entity[Booking] { return &Account{} },
	}, delivery.ConsumerConfig{})
	if err != nil {
		fmt.Println(err)
		return
	}
	accounts, err := sharding.Start(node, accountType)
	if err != nil {
		fmt.Println(err)
		return
	}
	counter, err := delivery.NewProducer(accounts, delivery.Config{ID: "counter-1"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer counter.Close()
	for range 3 {
		if err := counter.Send(ctx, "alice", Deposit{100}); err != nil { // it has it, and will deliver it
			fmt.Println(err)
		}
	}
	if err := counter.Deliver(ctx, "alice", Deposit{50}); err != nil { // alice has handled it
		fmt.Println(err)
	}
	cents, err := sharding.Ask(ctx, accounts.Ref("alice"), Balance{})
	fmt.Println(cents, err)
	// Output: 350 <nil>
}
