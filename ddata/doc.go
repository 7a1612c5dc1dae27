// Package ddata is the running node: it joins a cluster, replicates data with the other nodes at a consistency that the caller picks
// per call, and says who may run singletons.
//
// # Nouns
//
//   - A Node is one process incarnation, with a random uid. A restarted process is another node, also at the same address.
//   - The view is the list of members on which the voters have decided; views are numbered by epochs and form one chain. Only such a
//     decision changes who is in. A node that does not answer stays a member, and counts in every majority, until a view drops it.
//   - The lease is a node's permission to run what must run once. It comes from a majority of the view, for a short time; a view that drops a
//     node is decided only after the lease of that node has ended.
//   - A role is a label of nodes. Each has a Replicator: the replica of that role's data on this node.
//   - A Key names data and its type, one of the types of package crdt. Keys are made by their first write.
//
// # Guarantees
//
//   - A write with WriteMajority that was acknowledged is seen by every later read with ReadMajority, whatever minority crashes, is cut off, or is
//     replaced in between; for a durable key also when all nodes stop and start again with their directories.
//   - A read with ReadLinearizable sees all that any such read of the key saw that ended before it began. Together with writes with WriteMajority or
//     above, the operations on one key happen as if one after the other, each at a moment between its beginning and its end.
//   - Replicas that have seen the same writes hold the same values.
//   - Reads and writes at another level than local succeed only while the node holds its lease: a node that was left behind cannot acknowledge
//     what the others will never hear of, nor read what they have overwritten.
//   - At no instant do two nodes hold a lease under which both are the oldest of a role, if clocks run at rates that differ by less than 3 %.
//   - A value that was handed out never changes. A local read of a value that nobody is changing takes no lock.
//   - What a node has put into a crdt.NodeSet or crdt.NodeMap vanishes on each other node when that installs the view without it. A key that was ended by
//     DeleteForever stays ended. A key that Config.Expire names is removed when nobody has written to it for its time, as far as a majority knows.
//
// # Not guaranteed
//
//   - Writes that time out are not undone: they are on this node and go on spreading.
//   - Majority reads are not linearizable among themselves: two reads, also one after the other, may see a write that is not acknowledged yet, and then not
//     see it. ReadLinearizable never goes back.
//   - Last-writer types pick by the writers' clocks when two write at the same time without having seen each other.
//   - When a majority of the view is gone at once, nobody can decide a next view: the survivors stop, and volatile data is gone.
//
// # How it is built
//
// The pure machines membership.Machine and replicator.Machine decide everything. This package gives each one goroutine (package drive), carries
// out their effects over the transport and the disk, and publishes what many goroutines read: the view, the lease, snapshots of the data.
package ddata
