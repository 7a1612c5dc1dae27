// Package hosttest has what a node lends to its extensions (package host), for tests of extensions:
// without the node, its peers and its protocols.
//
// # Nouns
//
//   - A [Node] is the only member of a cluster. A test decides about its lease and its end.
//   - [Data] is replicated data without replication: each write is everywhere at once.
//   - [NoChannels] is a network without peers.
//
// # Guarantees
//
// All time is that of the scheduler that the test gives. So a Node runs on goroutines, in a bubble of
// testing/synctest, and on one flow of control (package proptest/routine).
//
// # Not guaranteed
//
// Nothing here fails, is late or is reordered by itself, as replicas and connections do.
package hosttest
