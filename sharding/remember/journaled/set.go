package journaled

import (
	"maps"
	"slices"

	"github.com/coterie-go/coterie/sharding/persistence/history"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// changed is the event that ids were added and removed. No id is in both. Ids are bytes, because a
// text of CBOR could not have all of them.
type changed struct{ Added, Removed [][]byte }

// loaded is the event that the set was loaded. Nothing that was on its way before takes effect after
// it, because its sequence number is gone.
type loaded struct{}

// whole is a snapshot of a set.
type whole struct{ IDs [][]byte }

// set is what a history comes to.
type set map[protocol.EntityID]bool

var form = history.Form[set]{
	Events:    schema.CBOR(schema.Type[any]("changed", changed{}), schema.Type[any]("loaded", loaded{})),
	Snapshots: schema.CBOR(schema.Type[any]("ids", whole{})),
	Empty:     func() set { return set{} },
	Apply:     set.apply,
	Whole:     func(s set) any { return whole{byteStrings(slices.Sorted(maps.Keys(s)))} },
}

func (s set) apply(event any) {
	switch e := event.(type) {
	case changed:
		s.change(e)
	case whole:
		s.change(changed{Added: e.IDs})
	}
}

func (s set) change(c changed) {
	for _, id := range c.Added {
		s[protocol.EntityID(id)] = true
	}
	for _, id := range c.Removed {
		delete(s, protocol.EntityID(id))
	}
}
