// Package ddata is the running node: it joins a cluster, replicates data with the other nodes at a consistency that the caller picks
// per call, and says who may run singletons.
//
// # Nouns
//
//   - A Node is one process incarnation, with a random uid. A restarted process is another node, also at the same address.
//   - The view is the list of members on which the voters have decided; views are numbered by epochs and form one chain. Only such a
//     decision changes who is in. A node that does not answer stays a member, and counts in every majority, until a view drops it.
//   - The lease is a node's permission to run what must run once. It comes from a quorum of the view, for a short time; a view that drops a
//     node is decided only after the lease of that node has ended.
//   - A Singleton runs on the oldest node of a role, under its lease, and nowhere else (Node.RunSingleton). When that node leaves it hands over to the
//     next in age: request, in progress, done; when it crashes, the next starts it with the view without it.
//   - Seeds and Discovery say where other nodes may be; who may found a cluster, and when, is told in packages membership and discovery.
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
//   - What a node has put into a crdt.NodeSet or crdt.NodeMap vanishes on each other node when that installs the view without it. A key that was
//     ended by DeleteForever stays ended. A key that Config.Expire names is removed when nobody has written to it for its time, as far as a majority
//     knows.
//
// # Not guaranteed
//
//   - Writes that time out are not undone: they are on this node and go on spreading.
//   - Majority reads are not linearizable among themselves: two reads, also one after the other, may see a write that is not acknowledged yet, and
//     then not see it. ReadLinearizable never goes back.
//   - Last-writer types pick by the writers' clocks when two write at the same time without having seen each other.
//   - When a majority of the view is gone at once, or what Config.Downing needs instead of one, nobody can decide a next
//     view: the survivors stop, and volatile data is gone.
//
// # How a node ends
//
// Node.Leave goes through the phases of package shutdown, in which a service and package sharding have tasks (Node.OnShutdown); so does SIGTERM where
// Config.LeaveOnSIGTERM is set. A node that is downed or closed goes through those phases that need no cluster.
//
// # What is to be seen
//
// Package sight has the events (Config.Sight, and the log). Node.Health answers the probes of whoever runs the process: in Kubernetes, livenessProbe and
// readinessProbe by sight.HealthHandler. A node that waits for others is live and not ready; one that has ended is neither.
//
// # Settings of the reference
//
// Those of Pekko's distributed-data, and what stands for them here. Fields without a package are of Config, R is Config.Replication.
//
//	name                                  the role: a Replicator runs for each, under its name
//	role                                  Roles                        DefaultRole
//	gossip-interval                       R.GossipInterval             1 s (Preset Local: 200 ms); pushes wait for no interval
//	notify-subscribers-interval           none: a change is told at once; a slow subscriber finds the latest value
//	log-data-size-exceeding               R.LargeKey, Sight.KeyLarge   1 MiB, an event, and one for each tenth more
//	max-delta-elements                    R.FrameMax                   64 KiB per message; larger groups are cut in transit
//	delta-crdt.enabled                    none: only events travel
//	delta-crdt.max-delta-size             R.GroupMax                   64 MiB; a larger update comes by a repair
//	(transport) maximum frame             none for values: items travel one by one, frames bound messages only
//	prefer-oldest                         R.PreferOldest               off; for reads: writes go to all at once
//	use-dispatcher, durable.use-dispatcher  none: one goroutine per Replicator, one thread for the disk
//	pruning-interval, max-pruning-dissemination, pruning-marker-time-to-live, durable.pruning-marker-time-to-live
//	                                      none: removals leave no markers, a gone node leaves one interval of the clock
//	serializer-cache-time-to-live         none: a group is encoded once for all members
//	expire-keys-after-inactivity          Expire                       none; reads do not keep a key alive
//	(coordinated-shutdown) phases, timeout  OnShutdown, ShutdownTimeouts    the same phases; 5 s each, and what is left of the time to leave for the hand-over
//	(coordinated-shutdown) run-by-jvm-shutdown-hook  LeaveOnSIGTERM  off
//	durable.keys                          DurableKeys                  none; remembered entities where there is a Dir
//	durable.store-actor-class             Dir, Store                   LMDB
//	durable.lmdb.dir                      Dir                          none
//	durable.lmdb.map-size                 none: the map grows by itself
//	durable.lmdb.write-behind-interval    WriteBehind                  off; never acknowledged before it is committed
//	gossip divisor 5 (delta-interval)     none: pushes go at once, and are gathered while R.PushFlight of them are not acknowledged
//	slice 2-10, chunks per tick 10        none: gossip tells of all data by one digest; a repair asks for what differs, R.PieceWindow frames at a time
//	secondaries 10, resend at timeout/5   R.RetryInterval              250 ms (Local: 50 ms), then all are asked
//	majority-min-cap, write-majority-plus, read-majority-plus   WriteMajorityPlus(k, atLeast), ReadMajorityPlus(k, atLeast), per call
//	unexpected-ask-timeout                RequestTimeout               5 s, or the deadline of ctx
//	waiting-for-state, updating-state     none: package sharding gives a read or write of its state 5 s, and then tries again
//	sharding's own replicator             the Replicator of the entities' role; remembered ids at WriteMajority and ReadMajority
//	receptionist's replicator             none: there is no receptionist; crdt.NodeSet and crdt.NodeMap hold what lives with a node
//
// Without a counterpart there: R.BacklogMax (how far a member may be behind before writers wait, 4 MiB), R.PushFlight, R.PushWindow, R.PendingMax,
// R.LogMax and R.LogBytesMax (what is kept to bring members up to date without a repair, 262,144 events and 64 MiB), R.GapDelay, and those of
// repairs, each with its default in replicator.Config.
//
// # How it is built
//
// The pure machines membership.Machine and replicator.Machine decide everything. This package gives each one goroutine (package drive), carries
// out their effects over the transport and the disk, and publishes what many goroutines read: the view, the lease, snapshots of the data.
package ddata
