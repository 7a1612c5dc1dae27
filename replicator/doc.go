// Package replicator is the protocol by which the nodes of one role keep the same items. It is a
// pure machine: it has no goroutine, no clock, no socket and no disk. Step takes an input, changes
// the state and names the effects. Deadline says when to step a Tick at the latest. The package
// makes no promise of compatibility; users reach it through package ddata.
//
// # Nouns
//
// A [Machine] is one Replicator: one dataset of one role on one node ([keyspace.Dataset]). It has
// two spaces, [keyspace.Volatile] and [keyspace.Durable]. Each is a replica of package crdt, with
// its own clock, log and digest. A restart that loses only the volatile half must not claim to have
// seen it. A [replica.Peer] is another member of the installed [replica.View], named by the
// id of its process. Quorums count voters whether they can be reached or not. Learners are pushed
// to and never counted.
//
// Two clocks have two names. The content clock goes with the items, the acked clock with the
// promises. In the durable space the acked clock is what the disk has committed. Every answer to a
// peer or a caller is given from the acked clock alone.
//
// # How it works
//
//   - Push: a group of own events goes at once to every reachable peer. The receiver applies it
//     whole, persists it, and acks how much of the sender's events it has. The log is the only
//     queue.
//   - Writes: a write is done when enough acked clocks contain its last event. Writers wait while
//     peers that answer are far behind, unless a majority keeps up.
//   - Reads: a quorum read asks with a hash of the content clock, and fetches what is missing. A
//     linearizable read asks a quorum until it holds the same events of the key.
//   - Gossip and repair: peers compare the hash of the clock and a digest, some 80 bytes. What no
//     log has any more is repaired by ranges and by a sketch, at the cost of what differs.
//   - Views: after a change of voters, a quorum means a quorum of every view that is not settled. A
//     process that comes to a running cluster is a learner until it has what a majority had.
//
// # Guarantees
//
//   - A write acknowledged at Majority is contained in every read at Majority that begins later.
//     The network and later views do not matter while a majority of every unsettled view lives.
//   - Linearizable reads, and writes at Majority or above, of one key are linearizable.
//   - A group is applied, persisted and shipped whole.
//   - Replicas with equal clocks hold equal items; replicas that can talk come to have equal
//     clocks.
//   - No message of a peer makes the machine panic. Queues, buffers and what is on its way are
//     bounded.
//
// # Not guaranteed
//
//   - A write that failed with a time-out is not rolled back: it lives here and still spreads.
//   - Nothing is promised about several keys together.
//   - A disk that has lost what it acknowledged is no witness of that any more.
//   - Not every step is short: an update makes its group in one, and what a union of equal clocks has
//     brought is taken in one. What others have written, and what a repair has brought, is taken in
//     many.
//
// # Reading on
//
// The machine is a tree of owners, each with the fields that only it changes: packages exchange,
// write, read, settlement, repair and their neighbours, over the site of package replica. The file
// design.md tells of each part, and has the rules R3 to R16, which comments name; R1, R2 and R10
// stand in the design.md of package crdt.
package replicator
