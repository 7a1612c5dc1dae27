package sharding

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// strategic is a type with a strategy.
func strategic(s allocation.Strategy, changing bool) EntityType[message_] {
	typ := cartType(&cartLog{})
	typ.Shards, typ.Allocation.Strategy, typ.Allocation.Changing = 4, s, changing
	return typ
}

// storedApart are two types of a name whose entities keep their state in two stores, x and y.
func storedApart() (x, y EntityType[message_]) {
	x, y = strategic(nil, false), strategic(nil, false)
	x.StateStores, y.StateStores = []any{aliased{id: "x"}}, []any{aliased{id: "y"}}
	return x, y
}

// eventsOf has a type tell of those of a kind.
func eventsOf(typ *EntityType[message_], kind protocol.EventKind) <-chan protocol.Event {
	told := make(chan protocol.Event, 100)
	typ.OnEvent = onNotes(func(e protocol.Event) {
		if e.Kind == kind {
			told <- e
		}
	})
	return told
}

// askCarts asks some entities, from region after region.
func askCarts(t *testing.T, n int, from ...*Region[message_]) {
	t.Helper()
	for i := range n {
		ref := from[i%len(from)].Ref(fmt.Sprint("cart-", i))
		if _, err := Ask(within(t, time.Minute), ref, total{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A node whose strategy is another than the coordinator's takes no part, and is told how to change it.
func TestOtherStrategyIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.format = format.Headers
		demandRefused(t, w, strategic(nil, false), strategic(allocation.LoadAware{}, false),
			"Allocation.Strategy is allocation.LoadAware here and allocation.LeastShard with the coordinator: to "+
				"change it by a rolling restart set Allocation.Changing")
	})
}

// A node whose entities keep their state elsewhere takes no part.
func TestOtherStateStoreIsRefused(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.format = format.Headers
		typ, wrong := storedApart()
		demandRefused(t, w, typ, wrong, "StateStores is store y here and store x with the coordinator: stop all nodes")
	})
}

// While a strategy is being changed, and while a node of a build before is there, nodes with two strategies run a
// type together.
func TestStrategyIsChanged(t *testing.T) {
	before, now := strategic(nil, false), strategic(allocation.LoadAware{}, true)
	after := strategic(allocation.LoadAware{}, false)
	for name, c := range map[string]struct { // order: each is a cluster of its own
		types [2]EntityType[message_]
		level format.Level
	}{
		"the new one comes":       {[2]EntityType[message_]{before, now}, format.Headers},
		"the new one is first":    {[2]EntityType[message_]{now, before}, format.Headers},
		"the last step":           {[2]EntityType[message_]{now, after}, format.Headers},
		"a build before is there": {[2]EntityType[message_]{before, after}, format.Initial},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, w *world) {
				w.format = c.level
				var regions []*Region[message_]
				var notes [2]noted
				for i, typ := range c.types {
					typ.OnEvent = onNotes(notes[i].add)
					regions = append(regions, start(w.join("backend"), typ))
				}
				w.install()
				askCarts(t, 20, regions...)
				for i, g := range regions {
					if g.Stats().Shards == 0 {
						t.Errorf("node %d hosts nothing", i)
					}
					if notes[i].count(protocol.TypeMismatch)+notes[i].count(protocol.LeasesDiffer) > 0 {
						t.Errorf("node %d tells of %v", i, notes[i].events)
					}
				}
			})
		})
	}
}

// When the last node of a build before has gone, nodes that have been running together compare what that build could
// not tell: two stores of states are found, and the node that differs gets no more shards.
func TestStoresAreComparedWhenTheLevelRises(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.format = format.Initial
		typ, other := storedApart()
		typ.Shards, other.Shards = 20, 20
		told := eventsOf(&typ, protocol.TypeMismatch)
		a, b := start(w.join("backend"), typ), start(w.join("backend"), other)
		w.install()
		askCarts(t, 1, a)
		w.format = format.Headers
		w.install()
		if e := <-told; !strings.Contains(e.Text, "StateStores is store x here and store y there") {
			t.Errorf("told is %q", e.Text)
		}
		had := b.Stats().Shards
		askCarts(t, 100, a)
		if has := b.Stats().Shards; has > had {
			t.Errorf("the node that differs had %d shards, and got %d more", had, has-had)
		}
	})
}

// A coordinator on a node that needs no store of states takes the first region's for that of all: of two regions with
// different ones, one takes no part.
func TestProxyComparesStoresOfRegions(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.format = format.Headers
		typ, other := storedApart()
		ports, idle := w.join("backend").ports(), strategic(nil, false)
		ports.Proxy, idle.New = true, nil
		told := eventsOf(&idle, protocol.TypeMismatch)
		proxy, err := StartOn(ports, idle)
		if err != nil {
			t.Fatal(err)
		}
		defer proxy.Close(context.Background())
		regions := []*Region[message_]{start(w.join("backend"), typ), start(w.join("backend"), other)}
		w.install()
		if e := <-told; !strings.Contains(e.Text, "StateStores is store ") {
			t.Errorf("told is %q", e.Text)
		}
		askCarts(t, 20, proxy)
		if a, b := regions[0].Stats().Shards, regions[1].Stats().Shards; min(a, b) != 0 || max(a, b) != 4 {
			t.Errorf("the regions host %d and %d shards", a, b)
		}
	})
}

// MinRegions does not count a region that takes no part.
func TestRefusedRegionIsNoRegion(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.format = format.Headers
		typ, other := storedApart()
		typ.Coordination.MinRegions, other.Coordination.MinRegions = 2, 2
		a := start(w.join("backend"), typ)
		start(w.join("backend"), other)
		w.install()
		if _, err := Ask(within(t, time.Minute), a.Ref("cart-1"), total{}); err == nil {
			t.Error("a shard got a home with one region that takes part")
		}
	})
}

// A type in which Changing is left set tells of it after an hour, with the addresses of the nodes.
func TestChangingThatIsLeft(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		w.format = format.Headers
		typ := strategic(nil, true)
		told := eventsOf(&typ, protocol.ChangingLeft)
		start(w.join("backend"), typ)
		start(w.join("backend"), typ)
		w.install()
		began := time.Now()
		e := <-told
		if d := time.Since(began); d < protocol.RolloutMax || d > protocol.RolloutMax+time.Minute {
			t.Errorf("told after %v", d)
		}
		for _, n := range w.nodes {
			if e.Count != 2 || !strings.Contains(e.Text, n.member.Addr) {
				t.Errorf("told is %+v", e)
			}
		}
	})
}
