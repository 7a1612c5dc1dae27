package simtest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/failing"
	"github.com/coterie-go/coterie/proptest/simtest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/delivery"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

type (
	hit interface{ isHit() }
	add struct {
		sharding.Returns[hit, int]
		Number int
	}
	total struct{ sharding.Returns[hit, int] }

	added struct{ Number int }

	// hits is what a counter knows: how often each number was added.
	hits [4]int
)

func (add) isHit()   {}
func (total) isHit() {}

// counters keep what is added in a journal. Those that are careful add each number once.
func counters(careful bool) simtest.Entity[hit, hits] {
	type effect = eventsourced.Effect[hit, added, hits]
	return simtest.Entity[hit, hits]{
		Size: simtest.Size{Entities: 1},
		Start: func(n *simtest.Node) (t sharding.EntityType[hit], err error) {
			t, err = eventsourced.Persist(sharding.EntityType[hit]{
				Identity: sharding.Identity{Name: "counter", Role: "any", Shards: 2},
				Messages: sharding.CBOR[hit](add{}, total{}),
			}, eventsourced.Behavior[hit, added, hits]{
				Journal: n.Journal(), Events: schema.CBOR(schema.Type("added", added{})),
				Apply: func(h hits, a added) hits {
					h[a.Number]++
					return h
				},
				Handle: func(c *sharding.Context[hit], h hits, m hit) (fx effect, err error) {
					a, adds := m.(add)
					switch {
					case adds && !(careful && h[a.Number] > 0):
						return fx.Persist(added{a.Number}), nil
					case adds:
						return fx, nil
					}
					return fx, c.Reply(sum(h))
				},
			})
			if err != nil {
				return t, err
			}
			return delivery.Consume(t, delivery.ConsumerConfig{})
		},
		Op: func(t *rapid.T) simtest.Op[hit] {
			if rapid.IntRange(0, 3).Draw(t, "adds") > 0 {
				return simtest.Deliver[hit](add{Number: rapid.IntRange(0, 3).Draw(t, "number")})
			}
			return simtest.Ask(total{})
		},
		Final: new(simtest.Ask(total{})),
		Model: func(h hits, m hit) (hits, any) {
			if a, adds := m.(add); adds && !(careful && h[a.Number] > 0) {
				h[a.Number]++
			}
			return h, sum(h)
		},
	}
}

func sum(h hits) (n int) {
	for _, k := range h {
		n += k
	}
	return n
}

// Counters that know numbers again count what is delivered to them once.
func TestDelivered(t *testing.T) { counters(true).Check(t) }

// What does not know messages again counts them again. A model that allows for that explains it.
func TestRepeated(t *testing.T) {
	e := counters(false)
	e.Repeats = true
	e.Check(t)
}

// TestCountedTwice fails on purpose: without that allowance a message counts twice when its confirmation is
// lost.
func TestCountedTwice(t *testing.T) {
	failing.OnPurpose(t)
	counters(false).Check(t)
}
