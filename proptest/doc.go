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
// The file design.md lists the laws by number, each with what it means here and where it is checked.
package proptest
