package eventsourced_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// printWithdrawals prints the events of all accounts that have the tag.
func printWithdrawals(ctx context.Context, journal persistence.Reader) error {
	for r, err := range journal.Events(ctx, persistence.Query{Type: "Account", Tag: "withdrawal"}) {
		if err != nil {
			return err
		}
		fmt.Println(r.Entity, r.Event.Seq, r.Event.Name)
	}
	return nil
}

func tagsOf(_ string, e Booked) []string {
	if e.Change < 0 {
		return []string{"withdrawal"}
	}
	return nil
}

func ExampleBehavior_tags() {
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

	journal := &memory.Store{} // for tests: a program takes one that outlives it
	accountType, err := eventsourced.Persist(sharding.EntityType[Booking]{
		Identity: sharding.Identity{Name: "Account", Role: "backend"},
		Messages: sharding.CBOR[Booking](Withdraw{}, Deposit{}),
	}, eventsourced.Behavior[Booking, Booked, int]{
		Journal: journal,
		Events:  schema.CBOR(schema.Type("booked", Booked{})),
		Tags:    tagsOf,
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
	for _, name := range []string{"alice", "bob"} {
		if err := accounts.Tell(ctx, name, Deposit{Cents: 100}); err != nil {
			fmt.Println(err)
		}
		if _, err := sharding.Ask(ctx, accounts.Ref(name), Withdraw{Cents: 30}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(printWithdrawals(ctx, journal))
	// Output:
	// "alice" 2 booked
	// "bob" 2 booked
	// <nil>
}
