package replicated_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding/projection"
	"github.com/coterie-go/coterie/sharding/projection/replicated"
)

// Offsets of a projection that need nothing beside the nodes.
func ExampleOpen() {
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

	var offsets *replicated.Store
	if offsets, err = replicated.Open(node, "backend"); err != nil {
		fmt.Println(err)
		return
	}
	target := projection.AtLeastOnce(offsets, func(_ context.Context, e projection.Recorded[string]) error {
		fmt.Println(e.Entity, e.Event)
		return nil
	}) // of a projection.Config

	// What a projection does with it:
	claim, _, err := target.Claim(ctx, "sales", projection.Part{Number: 0, Of: 16})
	fmt.Println(err, target.Save(ctx, claim, projection.Progress{Offset: "7", Handled: 7}))
	// Output: <nil> <nil>
}
