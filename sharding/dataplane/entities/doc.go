// Package entities runs the entities of one type on one node.
//
// # Nouns
//
//   - A Runtime is what all shards of the type share here: the worker pool, the node's lease, the
//     bounds of mailboxes, supervision and passivation.
//   - A Shard is hosted here. It finds its entities by id, makes them, and closes them all.
//   - An Entity is one id with its mailbox. A worker runs it, as package pool has it.
//   - An Incarnation is the user's value. The entity makes it for its first message, and makes
//     another one after a restart.
//   - An Awaited is the rest of a handler that waits for a result. Its entity is held meanwhile.
//   - A Supervisor decides about a failed handler: resume, restart, stop or escalate.
//   - A passivator says which entities of a shard go when there are too many. The idle scan says
//     which had no message for long.
//   - The Control is the control plane, as entities see it. Nothing waits for it.
//
// # Life of an entity
//
// The first message makes an entity, whose mailbox is held. The shard wakes it through the Control,
// which starts it when its machine agrees (Shard.Start). Then workers handle what comes. A stop, a
// failure or a passivation ends the incarnation, and the Control hears of it. What waits then wakes
// the entity again. An entity without a message leaves the shard.
//
// # Guarantees
//
//   - One handler runs per entity at a time, and none starts without the node's lease and the
//     shard's.
//   - Messages are handled in the order in which the mailbox took them, over restarts too.
//   - A handler may panic, or end its goroutine: its entity fails, and no other.
//   - What a handler has left unfinished ends before anything else is handled, or with its
//     incarnation.
//   - A shard that is shut hands over all that waits, in order per entity.
//
// # Not guaranteed
//
//   - Nothing here decides when an entity may start, or where a shard lives: package control does,
//     by the machines of sharding/protocol.
//   - A handler that does not return keeps its shard here. The Control hears of it.
//
// The package carries no promise of compatibility: users see it through package sharding.
package entities
