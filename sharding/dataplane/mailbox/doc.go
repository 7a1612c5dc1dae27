// Package mailbox is where the messages of one entity wait, and where it is decided that one worker
// handles them at a time.
//
// # Nouns
//
//   - An Envelope is one message, with the question that it is. A Command is an envelope of this
//     package's own: stop, start without a message, or go on with a handler whose result has come.
//   - A Mailbox is a queue with a phase: idle, queued for a worker, running, held for something else
//     than a message, or closed. Push says what became of a message by a Verdict.
//   - A Turn is what a worker has of a mailbox while that runs: the messages that it has taken.
//   - A Drain is told when the mailboxes rest that it has sealed.
//   - HeldBytes bounds what other nodes' messages take in the mailboxes of one region, and NodeBytes
//     in those of all regions of a node.
//
// # Guarantees
//
//   - One worker has a mailbox at a time, and gets its messages in the order in which they came,
//     however its turns end.
//   - A mailbox that is held for a result does not rest: a drain waits for what is unfinished.
//   - A mailbox never holds more than twice its limit of messages.
//   - An idle mailbox holds no memory beside its own.
//
// # Not guaranteed
//
//   - Nothing here runs anything: the caller of Push, Command, Begin, Release and Proceed puts the
//     entity on the run queue when it is told to.
//
// The package carries no promise of compatibility: users see it through package sharding.
package mailbox
