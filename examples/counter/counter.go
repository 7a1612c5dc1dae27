package main

import (
	"fmt"

	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/eventsourced"
	"github.com/coterie-go/coterie/sharding/persistence"
	"github.com/coterie-go/coterie/sharding/persistence/schema"
)

// Command is what a counter understands.
type Command interface{ command() }

// The commands.
type (
	Increment struct{}
	Decrement struct{}
	Get       struct{ sharding.Returns[Command, int] }
	Stop      struct{}
)

func (Increment) command() {}
func (Decrement) command() {}
func (Get) command()       {}
func (Stop) command()      {}

// CounterChanged is the event of a counter. Its state is the sum of them.
type CounterChanged struct{ Delta int }

type effect = eventsourced.Effect[Command, CounterChanged, int]

// handle decides about a command.
func handle(c *sharding.Context[Command], count int, cmd Command) (effect, error) {
	switch cmd.(type) {
	case Increment:
		return effect{}.Persist(CounterChanged{+1}), nil
	case Decrement:
		return effect{}.Persist(CounterChanged{-1}), nil
	case Get:
		return effect{}, c.Reply(count)
	case Stop:
		return effect{}, c.Passivate()
	}
	return effect{}, fmt.Errorf("unknown command %T", cmd)
}

// counterType is the entity type, whose events are kept in a journal.
func counterType(journal persistence.Journal) (sharding.EntityType[Command], error) {
	return eventsourced.Persist(sharding.EntityType[Command]{
		Identity: sharding.Identity{Name: "Counter", Role: "backend"},
		Messages: sharding.CBOR[Command](Increment{}, Decrement{}, Get{}, Stop{}),
	}, eventsourced.Behavior[Command, CounterChanged, int]{
		Journal:  journal,
		Events:   schema.CBOR(schema.Type("CounterChanged", CounterChanged{})),
		Handle:   handle,
		Apply:    func(count int, e CounterChanged) int { return count + e.Delta },
		Snapshot: eventsourced.Snapshot[int]{Every: 100},
	})
}
