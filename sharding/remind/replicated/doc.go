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
// of which the caller got an error may take effect late. If the shard has moved meanwhile, and the next
// region has changed the same reminder, the change stands that has the later time, by the wall clock of
// the node that made it, unless the later one was made with the earlier one in sight. So the older change
// stands if the clock of the node before was ahead by more than the time between the two changes, which
// is at least the hand-over of the shard. Then a reminder that was cancelled comes, one that was set does
// not, or it comes at its former time.
package replicated
