package eventsourced_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Booking is what accounts understand.
type Booking interface{ booking() }

// Withdraw asks for money, and is answered with the balance.
type Withdraw struct {
	sharding.Returns[Booking, int]
	Cents int
}

// Deposit brings money.
type Deposit struct{ Cents int }

func (Withdraw) booking() {}
func (Deposit) booking()  {}

// Booked is the event of an account.
type Booked struct{ Change int }

type effect = eventsourced.Effect[Booking, Booked, int]

// book decides about a booking.
func book(c *sharding.Context[Booking], balance int, b Booking) (effect, error) {
	switch b := b.(type) {
	case Deposit:
		return effect{}.Persist(Booked{b.Cents}), nil
	case Withdraw:
		if b.Cents > balance {
			return effect{}, c.Fail(fmt.Errorf("no more than %d", balance))
		}
		return effect{}.Persist(Booked{-b.Cents}).ThenReply(func(balance int) any { return balance }), nil
	}
	return effect{}, nil
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

	accountType, err := eventsourced.Persist(sharding.EntityType[Booking]{
		Identity: sharding.Identity{Name: "Account", Role: "backend"},
		Messages: sharding.CBOR[Booking](Withdraw{}, Deposit{}),
	}, eventsourced.Behavior[Booking, Booked, int]{
		Journal: &memory.Store{}, // for tests: a program takes one that outlives it
		Events:  schema.CBOR(schema.Type("booked", Booked{})),
		Handle:  book,
		Apply:   func(balance int, e Booked) int { return balance + e.Change },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	accounts, err := sharding.Start(node, accountType)
	if err != nil {
		fmt.Println(err)
		return
	}
	alice := accounts.Ref("alice")
	if err := alice.Tell(ctx, Deposit{Cents: 100}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(sharding.Ask(ctx, alice, Withdraw{Cents: 30}))
	fmt.Println(sharding.Ask(ctx, alice, Withdraw{Cents: 80}))
	// Output:
	// 70 <nil>
	// 0 sharding: handler failed: no more than 70
}
