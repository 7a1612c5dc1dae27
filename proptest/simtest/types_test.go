package simtest_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/simtest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

type (
	order interface{ isOrder() }
	place struct { // an order, which is closed a while after
		sharding.Returns[order, bool]
		After int // milliseconds
	}
	expire struct{}
	isOpen struct{ sharding.Returns[order, bool] }

	changed struct{ Open bool }
)

func (place) isOrder()  {}
func (expire) isOrder() {}
func (isOpen) isOrder() {}

// odd is a strategy of a user's: odd shards live on the newest region, even ones on the oldest.
type odd struct{}

// Allocate implements allocation.Strategy.
func (odd) Allocate(_ allocation.UID, s allocation.ShardID, a *allocation.Allocations) (allocation.UID, bool) {
	var staying []allocation.UID
	for _, r := range a.Regions {
		if !r.Leaving {
			staying = append(staying, r.UID)
		}
	}
	if len(staying) == 0 {
		return 0, false
	}
	return staying[int(s)%2*(len(staying)-1)], true
}

// Rebalance implements allocation.Strategy.
func (odd) Rebalance(*allocation.Allocations, []allocation.ShardID) []allocation.ShardID { return nil }

// orders are entities with events, reminders, and a strategy of the user's.
func orders(n *simtest.Node) (sharding.EntityType[order], error) {
	type effect = eventsourced.Effect[order, changed, bool]
	return eventsourced.Persist(sharding.EntityType[order]{
		Identity:   sharding.Identity{Name: "order", Role: "shop", Shards: 4},
		Messages:   sharding.CBOR[order](place{}, expire{}, isOpen{}),
		Allocation: sharding.Allocation{Strategy: odd{}},
		Reminders:  sharding.Reminders{Enabled: true, Store: n.Reminders()},
	}, eventsourced.Behavior[order, changed, bool]{
		Journal: n.Journal(),
		Events:  schema.CBOR(schema.Type("changed", changed{})),
		Apply:   func(_ bool, e changed) bool { return e.Open },
		Handle: func(c *sharding.Context[order], open bool, m order) (fx effect, err error) {
			switch m := m.(type) {
			case place:
				err = c.Remind("expire", n.Now().Add(time.Duration(m.After)*time.Millisecond), expire{})
				fx = fx.Persist(changed{true})
			case expire:
				return fx.Persist(changed{false}), nil
			}
			return fx.ThenReply(func(open bool) any { return open }), err
		},
	})
}

// Entities that keep events, and are reminded, are linearizable whatever happens, and wherever a strategy of
// the user's puts them.
func TestOrders(t *testing.T) {
	simtest.Entity[order, bool]{
		Start: orders,
		Op: func(t *rapid.T) simtest.Op[order] {
			if rapid.Bool().Draw(t, "places") {
				return simtest.Ask(place{After: rapid.IntRange(1, 3000).Draw(t, "after")})
			}
			return simtest.Ask(isOpen{})
		},
		Internal: func(m order) bool { _, is := m.(expire); return is },
		Model: func(open bool, m order) (bool, any) {
			switch m.(type) {
			case place:
				open = true
			case expire:
				open = false
			}
			return open, open
		},
	}.Check(t)
}
