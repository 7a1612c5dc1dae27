package durablestate

import (
	"slices"

	"github.com/coterie-go/coterie/sharding"
)

// Effect is what a message comes to. The zero value is nothing: the state stays, and there is no
// reply but what Handle gives by its Context. An Effect does not change; its methods return another
// one.
//
//	type effect = durablestate.Effect[Command, Cart]
//
//	return effect{}.Persist(cart.with(item)).ThenReply(func(c Cart) any { return len(c.Items) }), nil
type Effect[M, S any] struct {
	does change
	next S
	then []func(*sharding.Context[M], S) error
}

// change is what becomes of the stored state.
type change uint8

const (
	stays change = iota
	replaced
	deleted
)

// Persist replaces the state.
func (f Effect[M, S]) Persist(next S) Effect[M, S] {
	f.does, f.next = replaced, next
	return f
}

// Delete deletes the state: it is that of an entity which never had one. Its revision counts on.
func (f Effect[M, S]) Delete() Effect[M, S] {
	f.does = deleted
	return f
}

// ThenReply adds a reply to the question at hand, if there is one: what reply makes of the state
// after the change, or an error, as Context.Reply says.
func (f Effect[M, S]) ThenReply(reply func(state S) any) Effect[M, S] {
	return f.Then(func(c *sharding.Context[M], state S) error {
		if !c.Asked() {
			return nil
		}
		return c.Reply(reply(state))
	})
}

// Then adds what happens after the state is stored, with that state. An error is a failure of the
// entity; the state stays stored. What was added first happens first.
func (f Effect[M, S]) Then(do func(c *sharding.Context[M], state S) error) Effect[M, S] {
	f.then = append(slices.Clip(f.then), do)
	return f
}

// finish carries out what comes after the change.
func (f Effect[M, S]) finish(c *sharding.Context[M], state S) error {
	for _, do := range f.then {
		if err := do(c, state); err != nil {
			return err
		}
	}
	return nil
}
