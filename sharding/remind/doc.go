// Package remind is the port to where the reminders of entities are kept. Without a [Store] of
// one's own they are replicated data in the durable space of the type's role, see package
// replicated, which needs nothing beside the nodes. Package memory serves tests.
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
// A call that fails may have taken effect. The region repeats reads, and writes of what has come to
// its end; an entity that sets a reminder gets the error. Each call has a context that ends after
// the time-outs of EntityType.Quorums, and must return soon after.
//
// # Guarantees
//
// They are the laws of [Store]; remindtest holds an implementation to them.
//
// # Not guaranteed
//
// A change of which the caller got an error may take effect late. If the shard has moved meanwhile,
// and the next region has changed the same reminder, a store has to say which of the two stands. No
// call of the port carries the fencing token of the shard. In package replicated the change stands
// that has the later time, by the wall clock of the node that made it, unless the later one was made
// with the earlier one in sight. So the older change stands if the clock of the node before was ahead
// by more than the time between the two changes, which is at least the hand-over of the shard. Then a
// reminder that was cancelled comes, one that was set does not, or it comes at its former time.
package remind
