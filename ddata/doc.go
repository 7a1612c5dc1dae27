// Package ddata is the running node: it joins a cluster, replicates data with the other nodes at a
// consistency that the caller picks per call, and decides which node may run singletons.
//
// # Nouns
//
//   - A Node is one process incarnation, with a uid of its own. A restarted process is another node,
//     also at the same address.
//   - The view is the list of members on which the voters have decided. Views are numbered by
//     epochs and form one chain. Only such a decision adds or removes a member. A node that does
//     not answer stays a member, and counts in every majority, until a view drops it.
//   - The lease is a node's permission to run what must run once. It comes from a quorum of the
//     view, for a short time; a view that drops a node is decided only after the lease of that node
//     has ended.
//   - A Singleton runs on the oldest node of a role, under its lease, and nowhere else
//     (Node.RunSingleton). When that node leaves, it hands over to the next in age. When it crashes,
//     the next starts the singleton with the first view without it. Each run gets a FencingToken
//     that is higher than all before it, for outside stores that refuse lower ones.
//   - Seeds and Discovery say where other nodes may be. Packages membership and discovery say which
//     node may found a cluster, and when.
//   - A role is a label of nodes. Each has a Replicator: the replica of that role's data on this
//     node. It has a second one for reserved data, which extensions such as package sharding keep
//     (host.Host.Data).
//   - A Key names data and its type, one of the types of package crdt. Keys are made by their first
//     write.
//
// # Guarantees
//
//   - A write with WriteMajority that was acknowledged is seen by every later read with
//     ReadMajority, whatever minority crashes, is cut off, or is replaced in between; for a durable
//     key also when all nodes stop and start again with their directories.
//   - A read with ReadLinearizable sees all that any such read of the key saw that ended before it
//     began. Together with writes with WriteMajority or above, the operations on one key happen as
//     if one after the other, each at a moment between its beginning and its end.
//   - Replicas that have seen the same writes hold the same values.
//   - Reads and writes at a level above local succeed only while the node holds its lease. A node
//     that was left behind cannot acknowledge what the others will never hear of, nor read what they
//     have overwritten.
//   - At no instant do two nodes hold a lease under which both are the oldest of a role, if clocks
//     run at rates that differ by less than 3 %.
//   - The users' data and the reserved data of a role share no goroutine, queue in front of a machine,
//     clock, log, window, repair or back-pressure. A flood of users' writes, a large transfer to a
//     node that joins, and a move of users' keys hold no write of an extension up there.
//   - A value that was handed out never changes. A local read of a value that does not change at
//     that moment takes no lock.
//   - What a node has put into a crdt.NodeSet or crdt.NodeMap vanishes on each other node when that
//     installs the view without it. A key that was ended by DeleteForever stays ended. A key that
//     Config.Expire names is removed when it has had no write for its time, as far as a majority
//     knows.
//
// # Not guaranteed
//
//   - Writes that time out are not undone: they are on this node and go on spreading.
//   - Majority reads are not linearizable among themselves: two reads, also one after the other,
//     may see a write that is not acknowledged yet, and then not see it. ReadLinearizable never
//     goes back.
//   - When all directories are lost, a new cluster's fencing tokens are above the former ones only
//     if the wall clock of its founder is ahead of that of the former founding.
//   - Last-writer types pick by the writers' clocks when two write at the same time without having
//     seen each other.
//   - The two datasets of a role share the connections, the disk and the processors of a node.
//   - When a majority of the view is gone at once, or what Config.Downing needs instead of one, no
//     node can decide a next view: the survivors stop, and volatile data is gone.
//
// # Reserved data
//
// Each node with a role has two Replicators for it, from its start: one of the users' data, one of the
// reserved data. Package replicator/keyspace says which keys live where, why, and what it costs. The
// reserved one has the settings of the role, without Expire: what an extension keeps does not age.
// Patterns of users, such as "*", are about users' keys only, so keys that become durable hold no
// reserved one up. A node has caught up, and a view is settled, when both have and are.
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
// Node.PrepareForShutdown on one of them tells the cluster, so that nothing is handed over in vain.
//
// # After a stop of all nodes
//
// Nodes that start on the directories of a stopped cluster found it anew, when enough of them are
// there, and when no node can run under a lease that the last one on a directory granted:
//
//   - At once after an orderly stop of all nodes (Node.Leave); and after a kill, once all members of
//     the last view are there again, if all vote (VotersMax), have a Dir, and its mark is of this boot.
//   - Else, after a kill, when the leases from the mark on are over (T.LeaseDuration, 4.25 s, and
//     T.Epsilon): within one and a half of them. A member keeps the mark in its directory up to half
//     of a lease ahead, and grants nothing that it does not cover.
//   - Else a whole lease: after a reboot or a cut of power, on another machine or another system than
//     Linux, in another time namespace, and with a mark that is missing, damaged or a copy.
//
// The mark counts by the kernel's clock that cannot be set and by wall time, whichever says less. While
// a disk takes no mark for three eighths of a lease (1.6 s), its node grants no leases; if those of a
// majority hang like that, leases are lost. A snapshot of the file system that is put back without a
// reboot sets the mark back too: start such a node no earlier than a lease after the stop.
//
// # Upgrading to another build of this library
//
// Nodes of two builds form one cluster while they have a format level in common, so a rolling restart
// is all that an upgrade takes. What a new build brings is switched on when the last node of the old one
// has gone. Then the way back is closed, unless Config.FormatMax keeps it open (package format).
//
// # Events and health
//
// Package events has the events (Config.OnEvent, and the log). Node.Health answers the probes
// of the system that runs the process: in Kubernetes, livenessProbe and readinessProbe by
// events.HealthHandler. A node that waits for others is live and not ready; one that has ended is
// neither.
//
// # Settings of the reference: the cluster
//
// Those of Pekko's cluster, its split-brain-resolver, singleton, coordinated-shutdown,
// coordination.lease and discovery, and what stands for them here. Fields without a package are of
// Config, T is Config.Timing, whose defaults are those of Preset LAN.
//
//	seed-nodes                            Seeds, Discovery             in any order, the own address among them or not
//	seed-node-timeout, (first seed node)  BootstrapExpect              so many found together; no node founds alone because others are silent
//	retry-unsuccessful-join-after         T.HeartbeatInterval          1 s between probes
//	shutdown-after-unsuccessful-join-seed-nodes  the context of Start  no limit of its own
//	roles                                 Roles                        DefaultRole
//	app-version                           AppVersion                   none; compared for being equal only
//	(none; wire formats of rolling updates)  FormatMax                 the newest level of the build
//	min-nr-of-members                     MinMembers                   1
//	role.NAME.min-nr-of-members           PerRole[NAME].MinMembers     none
//	configuration-compatibility-check.*   always on; see Setting in package membership for what must be alike
//	log-info, log-info-verbose            Logger, OnEvent              levels: see the table of package events
//	jmx.*, publish-stats-interval         Meter, Health
//	down-removal-margin                   none: a view without a member is decided after its lease has run out (T.LeaseDuration, T.Epsilon)
//	downing-provider-class, split-brain-resolver.active-strategy  Downing   downing.KeepMajority; Manual is no automatic downing
//	...stable-after                       T.StableAfter, T.CrashStableAfter   5 s, 1 s where all voters find the process ended; availability only, so that they need not grow with the cluster
//	...down-all-when-unstable             none: a quorum decides in time; T.SelfDownAfter (20 s) ends a node without lease
//	...keep-majority.role                 downing.KeepMajority.Role
//	...static-quorum.quorum-size, role    downing.StaticQuorum.Size, Role
//	...keep-oldest.down-if-alone, role    downing.KeepOldest.DownIfAlone, Role   off (there: on)
//	...lease-majority.lease-implementation  Leases                     required with downing.LeaseMajority
//	...lease-majority.lease-name          none: "members-" and Name
//	...lease-majority.acquire-lease-delay-for-minority  downing.LeaseMajority.MinorityDelay   two heartbeats
//	...lease-majority.release-after       none: the holder keeps it while it runs, and gives it back to a larger side
//	...lease-majority.role                downing.LeaseMajority.Role
//	coordination.lease.heartbeat-timeout, heartbeat-interval   of the locks.Store (TTL of locks/postgres, locks/etcd and locks/kubernetes); package locks/file needs none
//	coordination.lease.lease-operation-timeout   RequestTimeout        5 s
//	failure-detector.heartbeat-interval   T.HeartbeatInterval          1 s
//	failure-detector.acceptable-heartbeat-pause  T.UnreachableAfter    4 s, the heartbeat included
//	failure-detector.threshold, max-sample-size, min-std-deviation, expected-response-after, implementation-class
//	                                      none: silence for a fixed time; a wrong suspicion costs nothing before T.StableAfter
//	failure-detector.monitored-by-nr-of-members  VotersMax             25: each member and the voters monitor each other
//	allow-weakly-up-members               none: joins need a quorum, not all members
//	leader-actions-interval, unreachable-nodes-reaper-interval, periodic-tasks-initial-delay, scheduler.*   none: a step is due when something is
//	gossip-interval, gossip-time-to-live, gossip-different-view-probability, reduce-gossip-different-view-probability
//	                                      none: a node that decides a view tells it; others ask for newer ones
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
// Pekko Management's cluster-bootstrap is in the table of package discovery. Without a counterpart
// there: BootstrapAnyDisks, T.LeaseDuration (4.25 s), T.Epsilon (0.03), T.RoundTrip (250 ms),
// T.BootstrapTimeout (20 s), T.SelfDownAfter.
//
// # Settings of the reference: data
//
// Those of Pekko's distributed-data, and what stands for them here. Fields without a package are of
// Config, R is Config.Replication.
//
//	name                                  the role: a Replicator runs for each, under its name
//	role                                  Roles                        DefaultRole
//	gossip-interval                       R.GossipInterval             1 s (Preset Local: 200 ms); pushes wait for no interval
//	notify-subscribers-interval           none: a change is told at once; a slow subscriber finds the latest value
//	log-data-size-exceeding               R.LargeKey, events.KeyLarge  1 MiB: an event, and for each tenth more
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
//	expire-keys-after-inactivity          Expire                       none; reads do not keep a key alive; of one role: PerRole
//	durable.keys                          DurableKeys                  none; remembered entities where there is a Dir; a rolling restart may add to it; of one role: PerRole
//	durable.store-actor-class             Dir, Store                   LMDB
//	durable.lmdb.dir                      Dir                          none
//	durable.lmdb.map-size                 none: the map grows by itself
//	durable.lmdb.write-behind-interval    WriteBehind                  off; never acknowledged before it is committed
//	gossip divisor 5 (delta-interval)     none: pushes go at once, and are gathered while R.PushFlight of them are not acknowledged
//	slice 2-10, chunks per tick 10        none: gossip tells of all data by one digest; a repair asks for what differs, R.PieceWindow frames at a time
//	secondaries 10, resend at timeout/5   R.RetryInterval              250 ms (Local: 50 ms), then all are asked
//	majority-min-cap, write-majority-plus, read-majority-plus   WriteMajorityPlus(k, atLeast), ReadMajorityPlus(k, atLeast), per call
//	unexpected-ask-timeout                RequestTimeout               5 s, or the deadline of ctx
//	waiting-for-state, updating-state     sharding.EntityType.Quorums   ReadTimeout 2 s, WriteTimeout 5 s; then it tries again
//	sharding's own replicator             the Replicator of the role's reserved data; sharding.EntityType.Quorums has the levels
//	receptionist's replicator             none: there is no receptionist; crdt.NodeSet and crdt.NodeMap hold what lives with a node
//
// Without a counterpart there: R.BacklogMax (how far a member may be behind before writers wait, 4
// MiB), R.PushFlight, R.PushWindow, R.PendingMax, R.LogMax and R.LogBytesMax (what is kept to bring
// members up to date without a repair, 262,144 events and 64 MiB), R.GapDelay, and those of
// repairs, each with its default in settings.Config.
//
// # How it is built
//
// The pure machines membership.Machine and replicator.Machine decide everything. This package gives
// each one goroutine (package runloop), carries out their effects over the transport and the disk,
// and publishes what many goroutines read: the view, the lease, snapshots of the data. Package host
// has what a node lends to its extensions, such as package sharding (Node.Host).
package ddata
