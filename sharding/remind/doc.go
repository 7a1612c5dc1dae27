// Package remind is the port to where the reminders of entities are kept. Without a [Store] of
// one's own they are replicated data in the durable space of the type's role, see package
// replicated, which needs nothing beside the nodes. For nodes without disks there is a store in
// PostgreSQL: Reminders of sharding/persistence/postgres. Package memory serves tests.
//
// # Nouns
//
//   - A [Reminder] is a message that an entity has set for a time, once or again and again. An
//     entity has one reminder of a name.
//   - The reminders of one entity type are kept in sets, one per shard. The region that hosts a
//     shard is the only writer of its set.
//   - A set is ordered by [Reminder.At]: by this the first ones that are due are found without a
//     look at the others.
//   - A [Change] puts one reminder or takes one away. With If it does so only if the reminder that
//     is stored is the one that the caller has seen. So the end of a reminder does not take away
//     another one that its handler has set under the same name.
//
// # Calls
//
// The region that hosts a shard reads the first reminders that are due, and writes: one read and one
// write at a time. Calls about different shards run at one time. The node of the coordinator watches
// which shards have reminders: these are started with no traffic.
//
// # Failures
//
// A call that fails may have taken effect, or may do so late. That of a region from which the shard has
// moved gets [ErrFenced], unless the store does not look at tokens. The region repeats reads, and
// writes of what has come to its end; an entity that sets a reminder gets the error. Each call has a
// context that ends after the time-outs of EntityType.Quorums, and must return soon after.
//
// # Guarantees
//
// They are the laws of [Store]; remindtest holds an implementation to them.
//
// A hosting that is over may not know it, because its node stood still or was cut off. ErrFenced tells
// it: then the region hands out no reminder of the shard any more, and what its entities ask for fails.
//
// # Not guaranteed
//
// In a store that does not look at tokens a change of which the caller got an error may take effect
// late, after the shard has moved and the next region has changed the same reminder. Such a store has to
// say which of the two stands, as package replicated does. Of those of this library it is the only one.
package remind
