// Package durablestate has entities whose state is one stored value. A handler answers a message with
// the next state, which replaces the one before. An entity that starts, on whatever node, reads its
// state. Package eventsourced keeps the history as well.
//
//	carts, err := durablestate.Persist(cartType, durablestate.Behavior[Command, Cart]{
//		States: store, Handle: handle,
//	})
//	region, err := sharding.Start(node, carts)
//
// # Nouns
//
//   - A [Behavior] is what an entity type does: Handle decides about a message.
//   - An [Effect] is the answer of Handle: the next state, or that there is none any more, and what
//     happens when that is stored.
//   - The revision of a state counts the values of its entity from 1. A deletion counts, too.
//
// # Guarantees
//
//   - The first message is handled when the state is read. Messages wait in order meanwhile, and while
//     a state is written.
//   - Effect.ThenReply and Effect.Then happen after the state is stored, and Handle sees stored states
//     only.
//   - Of two incarnations that run at one time, because a node was paused or cut off, only the one
//     with the higher fencing token can write. The other one fails with persistence.ErrFenced.
//   - An incarnation whose write has failed, or has an unknown outcome, handles nothing more. The next
//     one reads what is stored. It starts after a backoff, unless Supervision decides otherwise.
//   - A stored state that cannot be read is a [Failure], which names entity, revision and type. It is
//     never replaced by an empty one.
//
// # Not guaranteed
//
//   - What ThenReply and Then do happens at most once: the process may end when the state is stored. A
//     caller that got an error does not know whether it is.
//   - A reply that Handle gives by its Context goes out at once, whatever becomes of the state.
package durablestate
