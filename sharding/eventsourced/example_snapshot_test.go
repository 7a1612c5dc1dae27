package eventsourced_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence/memory"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// A snapshot every hundred events, and when an account ends, keeps starts short. What fails is an event: a
// snapshot costs time only, a history that cannot be read or written is a failure of the entity.
func ExampleSnapshot() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "bank", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
		OnEvent: func(e events.Event) {
			if e, ok := e.(eventsourced.SnapshotFailed); ok {
				fmt.Println("no snapshot of", e.Entity, e.Err)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	journal := &memory.Store{}
	accountType, err := eventsourced.Persist(sharding.EntityType[Booking]{
		Identity: sharding.Identity{Name: "Account", Role: "backend"},
		Messages: sharding.CBOR[Booking](Withdraw{}, Deposit{}),
		OnEvent: func(e events.Event) {
			var why *eventsourced.Failure
			if e, ok := e.(sharding.Failure); ok && errors.As(e.Err, &why) {
				fmt.Println(why.Entity, "stands at", why.Seq)
			}
		},
	}, eventsourced.Behavior[Booking, Booked, int]{
		Journal: journal,
		Events:  schema.CBOR(schema.Type("booked", Booked{})),
		Handle:  book,
		Apply:   func(balance int, e Booked) int { return balance + e.Change },
		Snapshot: eventsourced.Snapshot[int]{
			Every: 100, OnStop: true, Keep: 2,
			Schema: schema.CBOR(schema.Type("balance", 0)),
		},
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
	if err := accounts.Tell(ctx, "alice", Deposit{Cents: 100}); err != nil {
		fmt.Println(err)
	}
	fmt.Println(sharding.Ask(ctx, accounts.Ref("alice"), Withdraw{Cents: 30}))
	// Output: 70 <nil>
}
