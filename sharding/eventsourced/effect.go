package eventsourced

import (
	"slices"

	"github.com/coterie-go/coterie/sharding"
)

// Effect is what a message comes to. The zero value is nothing: no event, and no reply but what
// Handle gives by its Context. An Effect does not change; its methods return another one.
//
//	type effect = eventsourced.Effect[Command, Event, Counter]
//
//	return effect{}.Persist(Incremented{1}).ThenReply(func(s Counter) any { return s.Value }), nil
type Effect[M, E, S any] struct {
	events []E
	then   []func(*sharding.Context[M], S) error
}

// Persist adds events. All events of an Effect are stored together, or none.
func (f Effect[M, E, S]) Persist(events ...E) Effect[M, E, S] {
	f.events = append(slices.Clip(f.events), events...)
	return f
}

// ThenReply adds a reply to the question at hand, if there is one: what reply makes of the state
// after the events, or an error, as Context.Reply says.
func (f Effect[M, E, S]) ThenReply(reply func(state S) any) Effect[M, E, S] {
	return f.Then(func(c *sharding.Context[M], state S) error {
		if !c.Asked() {
			return nil
		}
		return c.Reply(reply(state))
	})
}

// Then adds what happens after the events are stored, with the state after them. An error is a
// failure of the entity; the events stay. What was added first happens first.
func (f Effect[M, E, S]) Then(do func(c *sharding.Context[M], state S) error) Effect[M, E, S] {
	f.then = append(slices.Clip(f.then), do)
	return f
}

// finish carries out what comes after the events.
func (f Effect[M, E, S]) finish(c *sharding.Context[M], state S) error {
	for _, do := range f.then {
		if err := do(c, state); err != nil {
			return err
		}
	}
	return nil
}
