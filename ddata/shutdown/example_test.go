package shutdown_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/shutdown"
)

// A service ends in phases: it takes no more requests, answers those that it has, and then its node
// leaves the cluster.
func ExamplePhase() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := ddata.Start(ctx, ddata.Config{
		Name: "shop", Bind: "127.0.0.1:0", BootstrapExpect: 1, Preset: ddata.Local,
		Logger:           slog.New(slog.DiscardHandler),
		ShutdownTimeouts: map[shutdown.Phase]time.Duration{shutdown.ServiceRequestsDone: 10 * time.Second},
		OnEvent: func(e events.Event) {
			if e, ok := e.(events.ShutdownPhase); ok && e.Err != nil {
				fmt.Println(e.Phase, e.Err)
			}
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	node.OnShutdown(shutdown.ServiceUnbind, "http", func(context.Context) error {
		fmt.Println("no more requests")
		return nil
	})
	node.OnShutdown(shutdown.ServiceRequestsDone, "http", func(context.Context) error {
		fmt.Println("all are answered")
		return nil
	})
	fmt.Println(node.Leave(ctx))
	// Output:
	// no more requests
	// all are answered
	// <nil>
}
