// Package commits measures event-sourced entities on a store, beside the same store without them.
//
// A writer of the entities asks one entity to store one event, and waits for the reply, which comes
// after the commit. The store without entities takes events of the same length, into a table with the same
// columns and keys, and checks nothing. It does so in several ways, each a limit with a ratio:
//
//   - writers: as many writers as there are entities, each of which stores one event with a commit of
//     its own, and waits for it. That is what a program does that has no batches.
//   - batched: calls with an event of each writer, up to 256, and several at one time if there are more
//     writers. Only a program that knew all writers beforehand could do that: none waits for another.
//   - by_shard: as batched, with a call for each shard.
//
// The target, 0.7 with 64 writers and more, is that of the first: each of these writers waits for its own
// commit, as each caller of an entity does. It is that of by_shard as well, where there is one: these are
// batches cut as those of the entities are, which have a fence for each shard. What is left, batched, is a
// bound, which its ratio tells: what a program stores that has the events of all writers at hand.
//
// All take turns in one run, so that they share whatever else the machine does. With one writer they
// are the same.
package commits
