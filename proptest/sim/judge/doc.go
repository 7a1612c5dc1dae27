// Package judge looks at what became of the state of entities: what their store has, and what clients
// were told of it. It knows neither the entities nor the store.
//
// # Nouns
//
//   - A Record is what one stored event says, or the change that one stored value has made: for which
//     command, by which writer, and after what.
//   - A Sum stands for a history: it is folded from all its records.
//   - A Receipt is what a client is told: how many records there were, and their Sum.
//
// # What it holds a world to
//
//   - one history: records of an entity are numbered from 1 without a gap, each was made for the
//     history that it stands behind, and a writer writes no more after another one has written;
//   - once: a command stands in a history once, whole, and in its entity's;
//   - fences: nothing is stored for a hosting after a later one of its shard was told that it has begun;
//   - replies come after commits: the records of the command of a receipt are stored, and the
//     Sum of the receipt is that of the history then;
//   - nothing acknowledged is missed: a receipt knows each record of its entity that a receipt was seen
//     for before its question was asked;
//   - snapshots: each has the Sum of the history at its number, and is of stored records only. Records
//     are deleted up to the number of a stored snapshot at most.
package judge
