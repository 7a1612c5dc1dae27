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
//     next in age: request, in progress, done; when it crashes, the next starts it with the view without it. Each run gets a Token that is
//     higher than all before it, for outside stores that refuse lower ones.
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
//   - When all directories are lost, a new cluster's Tokens are above the former ones only if the wall clock of its founder is ahead of that of the
//     former founding.
//   - Last-writer types pick by the writers' clocks when two write at the same time without having seen each other.
//   - When a majority of the view is gone at once, or what Config.Downing needs instead of one, nobody can decide a next
//     view: the survivors stop, and volatile data is gone.
//
// # How a node ends
//
// Node.Leave goes through the phases of package shutdown, in which a service and package sharding
// have tasks (Node.OnShutdown); so does SIGTERM where Config.LeaveOnSIGTERM is set. A node that
// leaves answers for what it has taken: before it says that it has stopped, the other members have
// received everything that it has sent to them in the Data lane; and before it ends, they know
// which of their own messages it has received, as far as they can be reached. What it has not
// received, the LossHandlers of package transport get as never sent. A node that is downed or
// closed goes through those phases that need no cluster. Before all nodes are stopped,
// Node.PrepareForShutdown on one of them tells the cluster, so that nothing is handed over to nodes
// that stop next.
//
// # What is to be seen
//
// Package sight has the events (Config.Sight, and the log). Node.Health answers the probes of whoever runs the process: in Kubernetes, livenessProbe and
// readinessProbe by sight.HealthHandler. A node that waits for others is live and not ready; one that has ended is neither.
//
// # Settings of the reference: the cluster
//
// Those of Pekko's cluster, its split-brain-resolver, singleton, coordinated-shutdown, coordination.lease and discovery, and what stands for them here. Fields
// without a package are of Config, T is Config.Timing, whose defaults are those of Preset LAN.
//
//	seed-nodes                            Seeds, Discovery             in any order, the own address among them or not
//	seed-node-timeout, (first seed node)  BootstrapExpect              so many found together; no node founds alone because others are silent
//	retry-unsuccessful-join-after         T.HeartbeatInterval          1 s between probes
//	shutdown-after-unsuccessful-join-seed-nodes  the context of Start  no limit of its own
//	roles                                 Roles                        DefaultRole
//	app-version                           AppVersion                   none; compared for being equal only
//	min-nr-of-members                     MinMembers                   1
//	role.NAME.min-nr-of-members           MinMembersPerRole            none
//	configuration-compatibility-check.*   always on; see Setting in package membership for what must be alike
//	log-info, log-info-verbose            Logger, Sight                the level of an event is that of its row in package sight
//	jmx.*, publish-stats-interval         Meter, Health
//	down-removal-margin                   none: a view without a member is decided after its lease has run out (T.LeaseDuration, T.Epsilon)
//	downing-provider-class, split-brain-resolver.active-strategy  Downing   membership.KeepMajority; Manual is no automatic downing
//	...stable-after                       T.StableAfter                5 s; availability only, so that it need not grow with the cluster
//	...down-all-when-unstable             none: no verdict comes late, for a quorum decides it; T.SelfDownAfter (20 s) ends who has lost the lease
//	...keep-majority.role                 membership.KeepMajority.Role
//	...static-quorum.quorum-size, role    membership.StaticQuorum.Size, Role
//	...keep-oldest.down-if-alone, role    membership.KeepOldest.DownIfAlone, Role   off (there: on)
//	...lease-majority.lease-implementation  Leases                     required with membership.LeaseMajority
//	...lease-majority.lease-name          none: "members-" and Name
//	...lease-majority.acquire-lease-delay-for-minority  membership.LeaseMajority.MinorityDelay   two heartbeats
//	...lease-majority.release-after       none: the holder keeps it while it runs, and gives it back to a larger side
//	...lease-majority.role                membership.LeaseMajority.Role
//	coordination.lease.heartbeat-timeout, heartbeat-interval   of the lease.Store; package lease/file needs none
//	coordination.lease.lease-operation-timeout   RequestTimeout        5 s
//	failure-detector.heartbeat-interval   T.HeartbeatInterval          1 s
//	failure-detector.acceptable-heartbeat-pause  T.UnreachableAfter    4 s, the heartbeat included
//	failure-detector.threshold, max-sample-size, min-std-deviation, expected-response-after, implementation-class
//	                                      none: silence for a fixed time; a wrong suspicion costs nothing before T.StableAfter
//	failure-detector.monitored-by-nr-of-members  VotersMax             0: everybody monitors all; else the voters do
//	allow-weakly-up-members               none: joins need a quorum, not all members
//	leader-actions-interval, unreachable-nodes-reaper-interval, periodic-tasks-initial-delay, scheduler.*   none: a step is due when something is
//	gossip-interval, gossip-time-to-live, gossip-different-view-probability, reduce-gossip-different-view-probability
//	                                      none: views are told by who decides them, and asked for by who hears of a newer one
//	prune-gossip-tombstones-after, quarantine-removed-node-after   none: a uid never returns, and views grow no tombstones
//	multi-data-center.*                   none: one cluster is one data center; leases want its round trips
//	run-coordinated-shutdown-when-down    always: the phases that need no cluster
//	use-dispatcher, debug.*               none
//	singleton.singleton-name, role        SingletonConfig.Name, Role
//	singleton.hand-over-retry-interval    T.HeartbeatInterval
//	singleton.min-number-of-hand-over-retries  none: it is asked until it has answered or is no member any more
//	singleton.use-lease, lease-retry-interval  none: it runs under the lease of its node
//	singleton-proxy.*                     none: Node.View names the oldest; entities are reached by package sharding
//	coordinated-shutdown.default-phase-timeout  shutdown.DefaultTimeout   5 s
//	coordinated-shutdown.phases.NAME.timeout    ShutdownTimeouts       those that hand over: what is left of the time to leave
//	coordinated-shutdown.phases.NAME.depends-on, enabled, recover   none: the order is fixed, and a task that fails holds up nothing
//	coordinated-shutdown.run-by-jvm-shutdown-hook  LeaveOnSIGTERM      off (there: on)
//	coordinated-shutdown.exit-jvm, exit-code, terminate-actor-system, reason-overrides   none: the process is the caller's; it waits for Node.Done
//	remote.artery.canonical.hostname, port  Advertise                  Bind
//	remote.artery.bind.hostname, port     Bind
//	remote.artery.advanced.*, its TLS     Transport, TLS               see the Config of package transport
//
// Pekko Management's cluster-bootstrap is in the table of package discovery. Without a counterpart there: BootstrapAnyDisks, T.LeaseDuration (6 s), T.Epsilon
// (0.03), T.RoundTrip (250 ms), T.BootstrapTimeout (20 s), T.SelfDownAfter.
//
// # Settings of the reference: data
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
//	                                      none: removals leave no markers; a gone node leaves one interval of the clock, and a
//	                                      number in each durable counter that it changed (those of volatile counters are folded)
//	serializer-cache-time-to-live         none: a group is encoded once for all members
//	expire-keys-after-inactivity          Expire                       none; reads do not keep a key alive
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
//	waiting-for-state, updating-state     sharding.EntityType.State   ReadTimeout 2 s, WriteTimeout 5 s; then it tries again
//	sharding's own replicator             the Replicator of the entities' role; sharding.EntityType.State has the levels
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
