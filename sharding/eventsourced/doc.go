// Package eventsourced has entities whose state is what their events have made of it. A handler
// answers a message with events; they are appended to a journal, and applied to the state. An
// entity that starts, on whatever node, reads its events and has its state back.
//
//	counters, err := eventsourced.Persist(counterType, eventsourced.Behavior[Command, Event, Counter]{
//		Journal: store, Events: events, Handle: handle, Apply: apply,
//	})
//	region, err := sharding.Start(node, counters)
//
// # Nouns
//
//   - A [Behavior] is what an entity type does: Handle decides about a message, Apply makes the next
//     state of an event. Its stores are those of package persistence.
//   - An [Effect] is the answer of Handle: events to persist, and what happens when they are stored.
//   - A snapshot is the state after an event. It saves the reading of all events before.
//
// # Guarantees
//
//   - The first message is handled when the snapshot and the events after it are read. Messages wait
//     in order meanwhile, and while events are written.
//   - Effect.ThenReply and Effect.Then happen after all events of the Effect are stored, and Handle
//     sees stored events only.
//   - Of two incarnations that run at one time, because a node was paused or cut off, only the one
//     with the higher fencing token can write. The other one fails with persistence.ErrFenced.
//   - An incarnation whose write has failed, or has an unknown outcome, handles nothing more. The next
//     one reads what is stored. It starts after a backoff, unless Supervision decides otherwise.
//   - An event that Apply panics at is not stored. A stored event that cannot be read or applied is a
//     [Failure], which names entity, number and type; nothing is left out.
//   - A snapshot that cannot be read costs time only: the one before it, or all events, stand in for
//     it, and the event SnapshotFailed says so.
//
// # Not guaranteed
//
//   - What ThenReply and Then do happens at most once: the process may end when the events are stored.
//     A caller that got an error does not know whether they are.
//   - A reply that Handle gives by its Context goes out at once, whatever becomes of the events.
//   - Events that are deleted (Snapshot.DeleteEvents) are missing for those that read all of them.
package eventsourced
