// Package ddata is the running node. It joins a cluster and replicates data with the other nodes,
// at a consistency that the caller picks per call. It also decides which node may run singletons.
//
//	node, err := ddata.Start(ctx, ddata.Config{Name: "shop", Bind: "10.0.0.1:7777", Seeds: seeds, BootstrapExpect: 3})
//	data, err := node.Replicator(ddata.DefaultRole)
//	visits := ddata.NewKey[crdt.GCounter]("visits")
//	err = ddata.Update(ctx, data, visits, ddata.WriteMajority,
//		func(c *crdt.GCounterTx) error { return c.Increment(1) })
//
// # Nouns
//
//   - A [Node] is one process incarnation, with a uid of its own. A restarted process is another node,
//     also at the same address.
//   - The view is the list of members on which the voters have decided. Views are numbered by
//     epochs and form one chain. A node that does not answer stays a member, and counts in every
//     majority, until a view drops it.
//   - The lease is a node's permission to run what must run once. A quorum of the view grants it,
//     for a short time.
//   - A role is a label of nodes. Each has a [Replicator]: the replica of that role's data on this
//     node. Extensions such as package sharding have a second one, for reserved data.
//   - A [Key] names data and its type, one of the types of package crdt. The first write makes a
//     key.
//   - A singleton runs on the oldest node of a role, under its lease, and nowhere else. Each run
//     has a [FencingToken] above all before it.
//
// # Guarantees
//
//   - Every later read with ReadMajority sees a write with WriteMajority that was acknowledged.
//     This holds whatever minority crashes, is cut off or is replaced. For a durable key it holds
//     when all nodes stop and start again with their directories.
//   - ReadLinearizable sees all that any such read of the key saw that ended before it began.
//   - Replicas that have seen the same writes hold the same values.
//   - At no instant do two nodes hold a lease under which both are the oldest of a role, if clocks
//     run at rates that differ by less than 3 %.
//   - A value that was handed out never changes. A local read of a value that does not change at that
//     moment takes no lock.
//
// # Not guaranteed
//
//   - A write that times out is not undone: it is on this node and goes on spreading.
//   - Two majority reads, one after the other, may see a write that is under way, and then not see
//     it.
//   - Last-writer types pick by the writers' clocks when two write at one time.
//   - When a majority of the view is gone at once, no node can decide a next view. The survivors
//     stop, and volatile data is gone.
//
// # Life of a node
//
// Start returns when the node is Up. Node.Leave hands over what the node has, through the phases of
// package shutdown. Before all nodes are stopped, Node.PrepareForShutdown tells the cluster, so
// that nothing is handed over in vain. Node.Health answers probes, Config.OnEvent and Config.Meter
// tell what happens (package events).
//
// The guides in the folder doc say which consistency, downing strategy, disk and size to choose.
// The file design.md has the rest: reserved data, a start after a stop of all nodes, upgrades, how
// the package is built, and the settings of Pekko and Akka with what stands for each here.
package ddata
