// Package ddatatest runs clusters of real nodes in one process, for the tests of whatever runs on nodes:
// replicated data, entities, a whole service.
//
//	c := ddatatest.NewCluster(t, 3, nil)
//	c.Cut(0, 2)
//	…                    // write on node 0
//	c.Heal(0, 2)
//	ddatatest.AwaitValue(t, c.Replicator(2, ddata.DefaultRole), key, want)
//
// # Nouns
//
//   - A [Cluster] is nodes over a network in memory. Its methods cut, heal and delay it; pause, kill,
//     restart and add nodes. One node starts in about a millisecond, three in about 50 of them.
//   - [Start] and [StartWith] found a cluster on loopback, with ports that no other process can take:
//     for tests of what needs real sockets.
//   - [Eventually] and the functions that begin with Await wait for a state. None sleeps. In vain they
//     wait for [Patience], and then fail the test with what they have seen last.
//
// # Time
//
// The nodes are real. Outside of a bubble of testing/synctest so is time: a node that is cut off is
// removed after about a second (ddata.Local). In a bubble time is synthetic, and such a test takes some
// milliseconds. Package proptest/bubble opens one that survives the race detector.
//
// # Guarantees
//
//   - When NewCluster returns, all nodes are members of one view, with their data.
//   - Cuts and pauses lose nothing by themselves: what is under way arrives when they end, unless the
//     sender has given up.
//   - All nodes end with the test, however it ends.
//
// # Not guaranteed
//
//   - Killed nodes end in order within the process: destructors run, and handlers are cancelled. A test
//     of what a crash leaves on a disk needs processes.
//   - A pause stops what stands on the node's Host, and not the node itself. See Cluster.Pause.
//   - Goroutines and connections run as they like: no seed gives the same run again. Package
//     proptest/sim does that.
package ddatatest
