// Package failure says why a message, a question or a call of the user's code has failed: the
// errors, the reasons of drops with their counts, and the panics that were survived.
//
// # Nouns
//
//   - An Err is what a caller gets. Package sharding explains each.
//   - A DropReason says why a message was lost. Drops counts them and tells the user's hook.
//   - A status is what a reply says instead of a value: StatusOf makes one of a reason, and OfStatus
//     makes an error of a status, on the asker's node.
//   - Known are the errors of the user's handlers that travel as themselves.
//   - Panics counts and logs the panics of the user's codecs, hooks and stores of leases.
//
// # Guarantees
//
//   - An asker gets the same error from an entity of its own node as from one of another node.
//   - A panic of a guarded hook or store, or its runtime.Goexit, does not end the goroutine that
//     calls it.
//
// # Not guaranteed
//
//   - A panic of a handler, a PanicError, is not counted here. Supervision decides about it.
//
// The package carries no promise of compatibility: users see it through package sharding.
package failure
