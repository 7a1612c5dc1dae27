package sharding

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// Shards that are stopped for good are hosted by no node and stay so, until a message asks. A proxy
// may ask for it, and every region takes part (A16).
func TestStopShards(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		log := &cartLog{}
		a, b := w.join("backend"), w.join("backend")
		ra := start(a, cartType(log))
		start(b, cartType(log))
		proxy := start(w.join("frontend"), cartType(log))
		w.install()
		ctx := within(t, time.Hour)
		tell := func() {
			for i := range 40 {
				if _, err := Ask(ctx, proxy.Ref(fmt.Sprint("cart-", i)), total{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		hosted := func(g *Region[message_]) (n int) {
			for _, r := range g.ClusterStats(ctx).Regions {
				n += len(r.Shards)
			}
			return n
		}
		tell()
		before := hosted(ra)
		var all []ShardID
		for s := range len(ra.plane.Routes.Slots) {
			all = append(all, ShardID(s))
		}
		if err := proxy.StopShards(ctx, all...); err != nil {
			t.Fatal(err)
		}
		<-time.After(10 * time.Minute) // rebalancing would have come
		if n := hosted(ra); n != 0 || before == 0 {
			t.Errorf("%d shards were hosted, now %d", before, n)
		}
		if s := ra.ClusterStats(ctx); s.Active() != 0 {
			t.Errorf("entities are active: %v", s)
		}
		tell()
		if n := hosted(ra); n != before {
			t.Errorf("after messages %d shards are hosted, before %d", n, before)
		}
		if err := ra.StopShards(ctx, ShardID(len(all))); !errors.Is(err, ErrConfig) {
			t.Errorf("a shard beyond: %v", err)
		}
		if err := ra.StopShards(ctx); err != nil {
			t.Errorf("no shard: %v", err)
		}
		short, cancel := context.WithCancel(ctx)
		cancel()
		if err := ra.StopShards(short, all...); !errors.Is(err, context.Canceled) {
			t.Errorf("a context that has ended: %v", err)
		}
		<-time.After(time.Minute)
		if n := hosted(ra); n != 0 {
			t.Errorf("no caller waits, and %d shards live on", n)
		}
	})
}

// What is remembered lives, so its shards are not stopped.
func TestStopShardsRefusesRemembered(t *testing.T) {
	g := &Region[message_]{
		run: &engine{
			control: &control.Plane{
				Cfg: protocol.Config{
					Identity: protocol.Identity{Name: "t", Shards: 4},
					Remember: protocol.Remember[protocol.StoreID]{Entities: true},
				},
			},
		},
	}
	if err := g.StopShards(t.Context(), 1); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}

// Nothing answers: the caller's context ends the call, with its cause, and nothing of it is kept.
// The end of the region does the same.
func TestStopShardsThatNobodyAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		g := start(w.join("frontend"), cartType(&cartLog{}))
		w.install()
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		said := make(chan error, 2)
		for _, ctx := range []context.Context{ctx, t.Context()} {
			go func() { said <- g.StopShards(ctx, 1, 2) }()
		}
		synctest.Wait()
		waits := func() (n int) {
			controlOf(g, func(c *control.Plane) { n = len(c.Stops.Waits) })
			return n
		}
		controlOf(g, func(c *control.Plane) { c.Stops.AtRest([]protocol.ShardID{2}) })
		if n := waits(); n != 2 {
			t.Errorf("%d wait for shard 1", n)
		}
		cancel(cause)
		if err := <-said; err != cause {
			t.Errorf("the context's end: %v", err)
		}
		if n := waits(); n != 1 {
			t.Errorf("%d wait, one does", n)
		}
		if err := g.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := <-said; !errors.Is(err, ErrStopped) {
			t.Errorf("the region's end: %v", err)
		}
		if err := g.StopShards(t.Context(), NoShard); !errors.Is(err, ErrConfig) {
			t.Errorf("no shard: %v", err)
		}
	})
}
