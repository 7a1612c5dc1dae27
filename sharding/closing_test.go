package sharding

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// TestShutdownOfTheCluster: after Node.PrepareForShutdown all nodes stop, together or one by one,
// and nothing moves: each entity is stopped where it is, once, and none starts anywhere. What was
// remembered starts again with the whole cluster, which is not closing then.
func TestShutdownOfTheCluster(t *testing.T) {
	const entities = 60
	for name, leave := range map[string]func([]*ddata.Node) error{
		"together": func(nodes []*ddata.Node) error {
			errs := make([]error, len(nodes))
			var wg sync.WaitGroup
			for i, n := range nodes {
				wg.Go(func() { errs[i] = n.Leave(within(t, 20*time.Second)) })
			}
			wg.Wait()
			return errors.Join(errs...)
		},
		"one by one": func(nodes []*ddata.Node) error {
			errs := make([]error, len(nodes))
			for i, n := range nodes { // the coordinator first
				errs[i] = n.Leave(within(t, 20*time.Second))
			}
			return errors.Join(errs...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx := within(t, time.Minute)
			dirs := []string{t.TempDir(), t.TempDir(), t.TempDir()}
			var moves atomic.Int64
			begin := func() ([]*ddata.Node, []*Region[message_], []cartLog) {
				nodes := ddatatest.StartWith(t, 3, func(i int, c *ddata.Config) {
					c.Roles, c.Dir = []string{"backend"}, dirs[i]
				})
				logs, regions := make([]cartLog, 3), make([]*Region[message_], 3)
				for i, n := range nodes {
					typ := cartType(&logs[i])
					typ.Shards, typ.Remember.Entities, typ.Coordination.MinRegions = 100, true, 3
					typ.OnEvent = onNotes(func(e protocol.Event) {
						if e.Kind == protocol.ShardMoved {
							moves.Add(1)
						}
					})
					var err error
					if regions[i], err = Start(n, typ); err != nil {
						t.Fatal(err)
					}
				}
				return nodes, regions, logs
			}
			nodes, regions, logs := begin()
			for i := range entities {
				if _, err := regions[i%3].StartEntity(ctx, fmt.Sprint("cart-", i)); err != nil {
					t.Fatal(err)
				}
			}
			await(t, ctx, logs, entities)
			if err := nodes[1].PrepareForShutdown(ctx); err != nil {
				t.Fatal(err)
			}
			if slices.ContainsFunc(nodes, func(n *ddata.Node) bool { return !n.View().Closing }) {
				t.Fatal("a member does not know that the cluster closes")
			}
			if err := leave(nodes); err != nil {
				t.Fatal(err)
			}
			if made, stopped := counts(logs); made != entities || stopped != entities || moves.Load() > 0 {
				t.Errorf("%d made, %d stopped, %d shards moved; want %d, as many and none",
					made, stopped, moves.Load(), entities)
			}
			nodes, _, logs = begin()
			await(t, ctx, logs, entities)
			if slices.ContainsFunc(nodes, func(n *ddata.Node) bool { return n.View().Closing }) {
				t.Error("the cluster is closing still")
			}
		})
	}
}

// counts adds up how many entities were made and stopped.
func counts(logs []cartLog) (made, stopped int64) {
	for i := range logs {
		made += logs[i].made.Load()
		stopped += logs[i].stopped.Load()
	}
	return made, stopped
}

// await waits until so many entities live: a worker makes them a little after they are active.
func await(t *testing.T, ctx context.Context, logs []cartLog, want int64) {
	t.Helper()
	for {
		made, stopped := counts(logs)
		if made-stopped == want {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%d of %d entities live", made-stopped, want)
		case <-time.After(10 * time.Millisecond):
		}
	}
}
