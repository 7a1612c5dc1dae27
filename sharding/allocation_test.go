package sharding

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coterie-go/coterie/ddata/host/hosttest"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// idIn is an entity id of a shard.
func idIn(shard, shards int) string {
	for i := 0; ; i++ {
		if id := fmt.Sprint("cart-", i); int(ShardOf(id, shards)) == shard {
			return id
		}
	}
}

// TestExternalClient: shards go where the client wants them, with a majority's knowledge (A12 of
// the reference's defects), and stay when it takes that back.
func TestExternalClient(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Shards, typ.Allocation.Strategy, typ.Rebalance.Interval = 4, allocation.External{}, time.Second
		a, b := w.join("backend"), w.join("backend")
		ra := start(a, typ)
		start(b, typ)
		proxy := start(w.join("frontend"), typ)
		w.install()
		ctx := within(t, 5*time.Minute)
		client, err := ra.External()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := proxy.External(); !errors.Is(err, ErrUnknownRole) {
			t.Errorf("a client on a proxy: %v", err)
		}
		counting := cartType(&cartLog{})
		counting.Name = "Counting"
		if _, err := start(a, counting).External(); !errors.Is(err, ErrConfig) ||
			!strings.Contains(err.Error(), "looks at no locations") {
			t.Errorf("a client of a type whose strategy looks at no locations: %v", err)
		}
		if err := client.SetShardLocation(ctx, 1, b.member); err != nil {
			t.Fatal(err)
		}
		if err := client.SetShardLocations(ctx, map[ShardID]string{4: "x"}); !errors.Is(err, ErrConfig) {
			t.Errorf("a shard that does not exist: %v", err)
		}
		homes := func() (at [4]view.UID) {
			for s := range at {
				if _, err := Ask(ctx, ra.Ref(idIn(s, 4)), total{}); err != nil {
					t.Fatal(err)
				}
				at[s], _ = homeOf(ra, idIn(s, 4))
			}
			return at
		}
		if got, want := homes(), [4]view.UID{a.UID(), b.UID(), a.UID(), a.UID()}; got != want {
			t.Errorf("homes %v, want the requester's except for shard 1: %v", got, want)
		}
		if err := client.SetShardLocations(ctx, map[ShardID]string{2: b.member.Addr, 1: ""}); err != nil {
			t.Fatal(err)
		}
		want := map[ShardID]string{2: b.member.Addr}
		if got, err := client.ShardLocations(ctx); err != nil || !maps.Equal(got, want) {
			t.Errorf("locations %v, %v", got, err)
		}
		<-time.After(5 * time.Second)
		if got, want := homes(), [4]view.UID{a.UID(), b.UID(), b.UID(), a.UID()}; got != want {
			t.Errorf("homes %v, want shard 2 moved and shard 1 left where it is: %v", got, want)
		}
		w.kill(a) // the coordinator: the next one knows what the client wants
		if got, _ := client.ShardLocations(ctx); len(got) != 1 {
			t.Errorf("locations %v", got)
		}
		synctest.Wait()
	})
}

// TestExternalClientTimeout: a call without a deadline ends by itself.
func TestExternalClientTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Allocation.Strategy = allocation.External{}
		g := start(w.join("backend"), typ)
		w.install()
		client, err := g.External()
		if err != nil {
			t.Fatal(err)
		}
		defer w.store.Stall(client.key())()
		began := time.Now()
		if err := client.SetShardLocations(context.Background(), map[ShardID]string{1: "x"}); !errors.Is(err,
			context.DeadlineExceeded) {
			t.Errorf("it ends with %v", err)
		}
		if took := time.Since(began); took != ClientTimeout {
			t.Errorf("after %v", took)
		}
	})
}

// TestLoadsAreMeasured: two shards whose handlers take long live on one node; what the regions
// measure moves one of them.
func TestLoadsAreMeasured(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		typ := cartType(&cartLog{})
		typ.Shards, typ.Allocation.Strategy, typ.Rebalance.Interval = 8,
			allocation.LoadAware{LoadHalfLife: time.Second}, 2*time.Second
		typ.New = func(*Context[message_]) Entity[message_] {
			return receiveFunc(func(c *Context[message_], m message_) error {
				if _, ok := m.(addItem); ok {
					<-time.After(20 * time.Millisecond)
					return nil
				}
				return c.Reply(0)
			})
		}
		a := w.join("backend")
		ra := start(a, typ)
		start(w.join("backend"), typ)
		w.install()
		ctx := within(t, 5*time.Minute)
		var hot []string
		for s := range 8 {
			id := idIn(s, 8)
			if _, err := Ask(ctx, ra.Ref(id), total{}); err != nil {
				t.Fatal(err)
			}
			if home, _ := homeOf(ra, id); home == a.UID() && len(hot) < 2 {
				hot = append(hot, id)
			}
		}
		for range 1500 {
			for _, id := range hot {
				if err := ra.Tell(ctx, id, addItem{}); err != nil {
					t.Fatal(err)
				}
			}
			<-time.After(20 * time.Millisecond)
		}
		one, _ := homeOf(ra, hot[0])
		other, _ := homeOf(ra, hot[1])
		if one == other {
			t.Error("the two busy shards still live on one node")
		}
	})
}

// TestNothingIsMeasured: where no strategy looks at loads, shards note nothing.
func TestNothingIsMeasured(t *testing.T) {
	g, _ := localRegion(t, cartType(&cartLog{}))
	if s := entities.NewShard(g.plane.Entities, 0, protocol.Token{}); s.Work != nil {
		t.Error("it is measured")
	}
}

// moody is a strategy of a user's that panics, or never stops thinking.
type moody struct {
	thinks chan struct{}
	asked  *atomic.Int64
}

func (m moody) Allocate(protocol.UID, protocol.ShardID, *allocation.Allocations) (protocol.UID, bool) {
	m.asked.Add(1)
	if m.thinks != nil {
		<-m.thinks
	}
	panic("not today")
}

func (m moody) Rebalance(*allocation.Allocations, []protocol.ShardID) []protocol.ShardID { return nil }

// TestCustomStrategy: a strategy that panics or never returns costs nothing except the time limit.
func TestCustomStrategy(t *testing.T) {
	for name, thinks := range map[string]bool{"panics": false, "never returns": true} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				s := moody{asked: &atomic.Int64{}}
				if thinks {
					s.thinks = make(chan struct{})
					defer close(s.thinks)
				}
				var alarms atomic.Int64
				typ := cartType(&cartLog{})
				typ.Allocation.Strategy, typ.Allocation.StrategyTimeout, typ.Rebalance.Interval = s, 3*time.Second, -1
				typ.OnEvent = onNotes(func(e protocol.Event) {
					if e.Kind == protocol.StrategyFailed || e.Kind == protocol.StrategyStuck {
						alarms.Add(1)
					}
				})
				g := start(w.join("backend"), typ)
				start(w.join("backend"), typ)
				w.install()
				ctx := within(t, time.Minute)
				began := time.Now()
				for i := range 20 {
					if _, err := Ask(ctx, g.Ref(fmt.Sprint("cart-", i)), total{}); err != nil {
						t.Fatal(err)
					}
				}
				if took := time.Since(began); took > 5*time.Second {
					t.Errorf("it took %v", took)
				}
				if s.asked.Load() == 0 || alarms.Load() == 0 {
					t.Errorf("asked %d times, %d alarms", s.asked.Load(), alarms.Load())
				}
			})
		})
	}
}

// TestAllocationSettings: each setting of the type reaches the machine that obeys it, and faults
// are reported with the type.
func TestAllocationSettings(t *testing.T) {
	typ := cartType(&cartLog{})
	typ.Allocation = Allocation{Strategy: allocation.Threshold{}, StrategyTimeout: 1}
	typ.Rebalance.Interval, typ.Rebalance.Delay = 2, 3
	typ.Rebalance.MixedVersions, typ.Rebalance.Unreachable, typ.Rebalance.Joining, typ.Coordination.MinRegions = true,
		true, true, 4
	c := typ.machines(fakePorts(1, hosttest.NoChannels{}, &fakeLease{}))
	if c.Allocation.Strategy != (allocation.Threshold{}) || c.Allocation.StrategyTimeout != 1 ||
		c.Rebalance.Interval != 2 ||
		c.Rebalance.Delay != 3 ||
		!c.Rebalance.MixedVersions || !c.Rebalance.Unreachable || !c.Rebalance.Joining ||
		c.Coordination.MinRegions != 4 {
		t.Errorf("%+v", c)
	}
	ports := fakePorts(1, hosttest.NoChannels{}, &fakeLease{})
	ports.MinRegions = 3
	if c := typ.machines(ports); c.Coordination.MinRegions != 4 {
		t.Errorf("the role's minimum takes the place of the type's: %d", c.Coordination.MinRegions)
	}
	typ.Coordination.MinRegions = 0
	if c := typ.machines(ports); c.Coordination.MinRegions != 3 {
		t.Errorf("the role asks for 3, the type for %d", c.Coordination.MinRegions)
	}
	for want, change := range map[string]func(*EntityType[message_]){
		"Allocation.Strategy.RebalanceAbsoluteLimit: -1": func(t *EntityType[message_]) {
			t.Allocation.Strategy = allocation.LeastShard{RebalanceAbsoluteLimit: -1}
		},
		"Allocation.StrategyTimeout": func(t *EntityType[message_]) { t.Allocation.StrategyTimeout = -1 },
		"Rebalance.Delay":            func(t *EntityType[message_]) { t.Rebalance.Delay = -1 },
	} {
		typ := cartType(&cartLog{})
		change(&typ)
		if _, err := StartOn(fakePorts(1, hosttest.NoChannels{}, &fakeLease{}), typ); !errors.Is(err, ErrConfig) ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
