package projection_test

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
	"github.com/coterie-go/coterie/sharding/projection"
)

// Sell is what shops understand.
type Sell struct {
	sharding.Returns[Sell, int]
	Cents int
}

// Sold is the event of a shop.
type Sold struct{ Cents int }

type effect = eventsourced.Effect[Sell, Sold, int]

// The sales of all shops reach a handler.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "mall", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()

	store := &memory.Store{} // for tests: a program takes one that outlives it
	events := schema.CBOR(schema.Type("sold", Sold{}))
	sales := make(chan projection.Recorded[Sold], 10)
	_, err = projection.Start(node, projection.Config[Sold]{
		Name: "sales", Role: "backend", Type: "Shop", Reader: store, Events: events,
		Target: projection.AtLeastOnce(&projection.Memory{},
			func(_ context.Context, e projection.Recorded[Sold]) error {
				sales <- e
				return nil
			}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	shopType, err := eventsourced.Persist(sharding.EntityType[Sell]{
		Identity: sharding.Identity{Name: "Shop", Role: "backend"}, Messages: sharding.CBOR[Sell](Sell{}),
	}, eventsourced.Behavior[Sell, Sold, int]{
		Journal: store, Events: events,
		Handle: func(_ *sharding.Context[Sell], _ int, m Sell) (effect, error) {
			return effect{}.Persist(Sold{m.Cents}).ThenReply(func(sum int) any { return sum }), nil
		},
		Apply: func(sum int, e Sold) int { return sum + e.Cents },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	shops, err := sharding.Start(node, shopType)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, shop := range []string{"books", "shoes", "books"} {
		if _, err := sharding.Ask(ctx, shops.Ref(shop), Sell{Cents: 100 * (i + 1)}); err != nil {
			fmt.Println(err)
		}
	}
	for range 3 {
		s := <-sales
		fmt.Printf("sale %d of %v: %d\n", s.Seq, s.Entity, s.Event.Cents)
	}
	// Unordered output:
	// sale 1 of "books": 100
	// sale 1 of "shoes": 200
	// sale 2 of "books": 300
}
