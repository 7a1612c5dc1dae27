// Package replicated keeps reminders as replicated data of a role: one key per shard, in the durable
// space. It is what an entity type uses that is given no other store.
//
// A key is a map of crdt.LWWMap with two entries for each reminder: one by entity and name, which
// holds it, and one by time, which is empty and leads to it. So the first reminders that are due are
// found by a descent.
//
// Two hosts of a shard may write at one time for a moment, when one of them is about to lose it. What
// they leave behind is resolved by the entry that holds the reminder. An entry by time that leads to
// nothing is passed over, and taken away by a later write.
package replicated
