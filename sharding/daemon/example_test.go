package daemon_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/daemon"
)

// Three workers that each take a share of some work, on whatever nodes there are.
func Example() {
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

	began := make(chan daemon.Worker)
	indexers, err := daemon.Start(node, daemon.Config{
		Name: "indexers", Role: "backend", Count: 3, WorkersMax: 10,
		Run: func(ctx context.Context, w daemon.Worker) error {
			select {
			case began <- w:
			case <-ctx.Done():
			}
			<-ctx.Done() // works on its share of the keys until it shall not
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		w := <-began
		fmt.Printf("worker %d of %d\n", w.Number, w.Total)
	}
	fmt.Println(indexers.Rescale(ctx, 1))
	w := <-began
	fmt.Printf("worker %d of %d, revision %d\n", w.Number, w.Total, w.Revision)
	// Unordered output:
	// worker 0 of 3
	// worker 1 of 3
	// worker 2 of 3
	// <nil>
	// worker 0 of 1, revision 1
}

// The type of the workers can be adapted, and what is written of the set can be read.
func ExampleProcess() {
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

	began := make(chan struct{}, 2)
	indexers, err := daemon.Start(node, daemon.Config{
		Name: "indexers", Role: "backend", Count: 2, WorkersMax: 10,
		Run: func(ctx context.Context, _ daemon.Worker) error {
			began <- struct{}{}
			<-ctx.Done()
			return nil
		},
		Adapt: func(t *sharding.EntityType[daemon.Command]) { t.HandOff.StopTimeout = time.Second },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	<-began
	<-began
	var state daemon.State
	state, written, err := indexers.State(ctx)
	fmt.Println(state.Count, "workers", written, err)
	// Output: 2 workers true <nil>
}
