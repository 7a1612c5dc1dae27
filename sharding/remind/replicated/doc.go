// Package replicated keeps reminders in the users' data of a role: one key per shard,
// reminders/TYPE/SHARD, in the durable space. It is what an entity type uses that is given no other store.
//
// The keys are not in the reserved data, where the coordinators have theirs. Users decide how many reminders
// there are, and how large the messages are that they bring. So a flood of them holds up the users' own data,
// and no coordinator.
//
// A key is a map of crdt.LWWMap with two entries for each reminder: one by entity and name, which
// holds it, and one by time, which is empty and leads to it. So the first reminders that are due are
// found by a descent.
//
// Two hosts of a shard may write at one time for a moment, when one of them is about to lose it. What
// they leave behind is resolved by the entry that holds the reminder. An entry by time that leads to
// nothing is passed over, and taken away by a later write.
//
// # Not guaranteed
//
// The store does not look at fencing tokens: its replicas take what reaches them, in any order. A change
// of which the caller got an error may take effect late: its node has stored it, was cut off before others had
// it, and comes back with its disk. If the shard has moved meanwhile, and the next region has changed the same
// reminder without the older change in sight, it depends on the two changes:
//
//   - Of two that set it the one stands that has the later time, by the wall clock of the node that made it. So
//     the older one stands if the clock of its node was ahead by more than the time between the two, which is at
//     least the hand-over of the shard. Then the reminder comes at its former time.
//   - One that set it stands over one that has taken it away, whatever the clocks show, because what takes away
//     does so with what it sees. So a reminder comes that was cancelled, or comes once more.
//   - One that took it away has no effect on what was set without it in sight.
//
// The same holds for the moves of package rehash, whose puts are such changes.
package replicated
