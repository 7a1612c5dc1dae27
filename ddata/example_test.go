package ddata_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
)

// A key is written and read at the consistency that each call picks.
func ExampleUpdate() {
	visits := ddata.NewKey[crdt.GCounter]("visits")
	withData(func(ctx context.Context, data *ddata.Replicator) error {
		visit := func(c *crdt.GCounterTx) error { return c.Increment(1) }
		if err := ddata.Update(ctx, data, visits, ddata.WriteMajority, visit); err != nil {
			return err
		}
		n, err := ddata.Get(ctx, data, visits, ddata.ReadMajority)
		fmt.Println(n.Value(), err)
		return err
	})
	// Output: 1 <nil>
}

// A subscription yields the latest value of a key, first the present one.
func ExampleWatch() {
	open := ddata.NewKey[crdt.Flag]("open")
	withData(func(ctx context.Context, data *ddata.Replicator) error {
		err := ddata.Update(ctx, data, open, ddata.WriteLocal, func(f *crdt.FlagTx) error { return f.Enable() })
		if err != nil {
			return err
		}
		for change, err := range ddata.Watch(ctx, data, open) {
			if err != nil {
				return err
			}
			fmt.Println(change.Value.Enabled())
			break
		}
		return nil
	})
	// Output: true
}

// withData runs use on a node of its own.
func withData(use func(context.Context, *ddata.Replicator) error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Roles: []string{"backend"}, Preset: ddata.Local,
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = node.Leave(ctx) }()
	data, err := node.Replicator("backend")
	if err == nil {
		err = use(ctx, data)
	}
	if err != nil {
		fmt.Println(err)
	}
}
