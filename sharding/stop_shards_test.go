package sharding

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/coterie-go/coterie/sharding/protocol"
)

// Shards that are stopped for good are hosted by nobody and stay so, until a message asks; a proxy may ask for it, and every region takes part (A16).
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
				if _, err := Ask(ctx, proxy, fmt.Sprint("cart-", i), total{}); err != nil {
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
		var all []int
		for s := range len(ra.core.table.slots) {
			all = append(all, s)
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
		if err := ra.StopShards(ctx, len(all)); !errors.Is(err, ErrConfig) {
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
			t.Errorf("nobody waits, and %d shards live on", n)
		}
	})
}

// What is remembered lives, so its shards are not stopped.
func TestStopShardsRefusesRemembered(t *testing.T) {
	g := &Region[message_]{run: &engine{control: &control{cfg: protocol.Config{Type: "t", Shards: 4, Remember: true}}}}
	if err := g.StopShards(t.Context(), 1); !errors.Is(err, ErrConfig) {
		t.Error(err)
	}
}
