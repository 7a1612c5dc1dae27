package simtest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/coterie-go/coterie/proptest/simtest"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Visit asks a page to count a visitor, and is answered with how many there were.
type Visit struct {
	sharding.Returns[Visit, int]
	By string
}

// Visited is the event of a page.
type Visited struct{ By string }

// Visitors is the state of a page.
type Visitors struct{ names map[string]bool }

type visiting = eventsourced.Effect[Visit, Visited, Visitors]

// pages makes the type as the service does, with the journal of a simulated node.
func pages(n *simtest.Node) (sharding.EntityType[Visit], error) {
	return eventsourced.Persist(sharding.EntityType[Visit]{
		Identity: sharding.Identity{Name: "Page", Role: "backend", Shards: 2},
		Messages: sharding.CBOR[Visit](Visit{}),
	}, eventsourced.Behavior[Visit, Visited, Visitors]{
		Journal: n.Journal(),
		Events:  schema.CBOR(schema.Type("visited", Visited{})),
		Handle: func(_ *sharding.Context[Visit], v Visitors, m Visit) (visiting, error) {
			if v.names[m.By] {
				return visiting{}.ThenReply(func(v Visitors) any { return len(v.names) }), nil
			}
			return visiting{}.Persist(Visited{m.By}).ThenReply(func(v Visitors) any { return len(v.names) }), nil
		},
		Apply: func(v Visitors, e Visited) Visitors {
			names := map[string]bool{e.By: true}
			for by := range v.names {
				names[by] = true
			}
			return Visitors{names}
		},
	})
}

// pageTest is what a page is held to. Its Model is what one page would answer if nothing ever failed.
var pageTest = simtest.Entity[Visit, [3]bool]{
	Start: pages,
	Op: func(t *rapid.T) simtest.Op[Visit] {
		return simtest.Ask(Visit{By: rapid.SampledFrom([]string{"alice", "bob", "carol"}).Draw(t, "visitor")})
	},
	Model: func(there [3]bool, m Visit) ([3]bool, any) {
		there[m.By[0]-'a'] = true
		n := 0
		for _, is := range there {
			if is {
				n++
			}
		}
		return there, n
	},
	Size: simtest.Size{Nodes: 3, Entities: 1},
}

// An entity type is held to its Model in a test:
func ExampleEntity() {
	_ = func(t *testing.T) { pageTest.Check(t) }
}
