// Package reminders drives the agendas of the shards that run on this node: it has the reminders of
// entities read and written, and puts those that are due into mailboxes.
//
// # Nouns
//
//   - The Reminders are those of one entity type on one node. One goroutine steps all agendas.
//   - An agenda (package agenda) decides for one hosted shard.
//   - A reminder that has come stands in a mailbox as an entities.Reminder. Its handler ends it.
//
// # Guarantees
//
//   - A reminder is taken off when its handler has returned in order, and not before.
//   - A shard that is handed over has written what its handlers have ended. What still stands in its
//     mailboxes stays in the store, and comes again where the shard goes.
//   - No goroutine waits for the time of a reminder. No call looks at all of them.
//
// # Not guaranteed
//
//   - A reminder may come twice: when its shard was lost before the end was written.
//
// The package carries no promise of compatibility: users see it through package sharding.
package reminders
