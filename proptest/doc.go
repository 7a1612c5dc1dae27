// Package proptest holds the proofs of the library that are larger than one package. This package
// is the laws of data types, for those of package crdt and for the users' own. Beside it stand the
// simulator (proptest/sim), which runs whole clusters of the real machines in virtual time from one
// seed, the player of golden scripts (proptest/golden) and the rules of the source tree
// (proptest/tidy). A table in rules_test.go says of each rule of the dotted store, and of each
// hazard of replicated data, which tests fail when its care is taken out. [Frugal] holds decoders
// to the size of their input.
//
// # Nouns
//
// [Laws] is what a type is held to: how to draw an operation, how to carry it out, what to read,
// and a model of what must be read. An [Event] is one operation that was carried out, with all that
// its replica had seen. A [History] is the events that one replica has seen: a partial order, of
// which the model is a function. The model knows operations and which replica had seen which, never
// items, dots or clocks, and must not be written from the code that it checks: a type that drops
// everything converges too.
//
//	func TestPlaylist(t *testing.T) {
//		proptest.Laws[Playlist, *PlaylistTx, op]{Op: …, Do: …, Value: …, Model: …}.Check(t)
//	}
//
// Check replays random histories on three or four replicas: updates of several operations, updates
// that fail, groups that are lost, repeated and overtaken, gaps filled from logs in frames that are
// cut off, merges whole and by difference, everything over the wire and back, logs trimmed or too
// short, crashes that lose the last commits of a disk, snapshots that are kept; once on two keys of
// a store, once on values that stand alone. After each step the replica that moved must read what
// the model says. What fails is shrunk and printed as the steps that led there.
//
// # Laws
//
// The laws of replicated types as the literature has them, each with what it means here and where
// it is checked. A type is a view of items, so that some of them cannot be broken by a type whose
// View depends on the items alone; those are checked of the store, on the states that the type
// reaches, and of the values that the type reads from them, which is what a View with a memory
// would break.
//
//  1. Merge is commutative, associative, idempotent; empty is its unit. (semilattice, settle)
//  2. A mutator inflates, strictly, or makes no event; an update that fails, or makes no event,
//     changes nothing, and the operations of the latter have no effect in the model either.
//     (update, failing, silent)
//  3. The group of an update is its delta: applied to the state before, it makes the state after;
//     all groups in any order that their removals allow, with repetitions, make one state, which
//     reads as the model says. (delta, anyOrder, apply)
//  4. A state is the join of its single dots and of no fewer; what is shipped is minimal.
//     (decomposes, since)
//  5. Whatever the order of deliveries and merges, what is read is what the model says, within an
//     update too. (check, after every step)
//  6. Encodings come back, in the same bytes; items of another kind are a type clash, and broken
//     ones never a panic. (survivesTheWire, strangers; the decoders have fuzz targets of their own)
//  7. The digest that is kept is the one that is computed; equal clocks have equal digests.
//     (incremental, check)
//  8. Pruning changes nothing. There are no tombstones and no markers to prune; what is trimmed is
//     the log: state, value and merges stay as they were, and an old copy that is merged afterwards
//     changes nothing. That removed origins are folded by ordinary events has its proof in package
//     replicator. (trimmed)
//  9. What a log ships to a clock makes the full merge with any state of that clock, and is nothing
//     when clocks are equal. (since, fill)
//  10. After a crash at any prefix of the commits, a disk holds the state of that moment.
//     (prefixes, restart)
//  11. Operations that are done again and again leave no more behind than when done a few times. A
//     type that grows by intention says so. (bounded)
//  12. A dot is in one key and in the clock; every path begins with the type's kind; a put removes
//     what its own origin had put there. (orderly)
//
// And what a type promises besides (crdt.Value):
//
//  13. What was handed out never changes: snapshots and views always read the same. (checkPins)
//  14. The same update on the same state makes the same bytes: no order of a map, no global memory.
//     (twins)
//
// No law has no meaning here; but 4, 7, 9 and 10 say nothing about a type that 1, 3 and 5 do not
// say already, as long as its View is pure.
package proptest
