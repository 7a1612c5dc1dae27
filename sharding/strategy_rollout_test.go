package sharding

import (
	"fmt"
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
		typ, wrong := strategic(nil, false), strategic(nil, false)
		typ.StateStores, wrong.StateStores = []any{aliased{id: "x"}}, []any{aliased{id: "y"}}
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
				for i := range 20 {
					ref := regions[i%2].Ref(fmt.Sprint("cart-", i))
					if _, err := Ask(within(t, time.Minute), ref, total{}); err != nil {
						t.Fatal(err)
					}
				}
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
