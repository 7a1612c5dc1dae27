// Package daemon keeps a number of workers running, spread over the nodes of a role: a
// ShardedDaemonProcess.
//
// # Nouns
//
//   - A Worker is one of them, numbered from 0. Its Run is a goroutine on one node of the role; it
//     is an entity of sharding in a shard of its own.
//   - A Process is this node's part in a set of workers of one name.
//   - A revision is one number of workers. Process.Rescale ends one and begins the next.
//
// The oldest node of the role keeps the workers alive, as a singleton: it tells each of them,
// Config.KeepAliveThrottle apart, that it shall run, and again every KeepAliveInterval. The
// revision and its number of workers are in the role's replicated data, written with a majority.
//
//	running ──wish──► {rev+1, n, not completed} written ──► all workers of rev stopped, and the shards that rev+1 does not use
//	   ▲                                                                                                                     │
//	   └───────────────────────────────── {rev+1, n, completed} written ◄────────────────────────────────────────────────────┘
//
// # Guarantees
//
//   - No worker runs on two nodes at one time, as far as its Run returns when its context ends: it
//     is an entity, and a hand-off waits for Run.
//   - No worker of a revision starts before those of the one before have stopped, or once the next
//     has begun: before Run is called its node reads the revision from a majority.
//   - When a rescale has ended, no node hosts a shard that has no worker, unless a message to an
//     earlier worker came late: they are stopped for good.
//   - A coordinator that takes over goes on with the revision that was written, and finishes a
//     rescale that was begun.
//   - A worker whose node died, or whose Run has returned or panicked, runs again with the next
//     keep-alive after its shard has a home.
//
// # Not guaranteed
//
//   - That all workers run at any moment. They rest while they move, and for up to
//     KeepAliveInterval after Run has returned.
//   - A Run that does not heed its context cannot be killed: it holds up the hand-off of its shard,
//     and a rescale.
//   - Large sets: a round of keep-alives tells one worker after the other, so it is meant for up to
//     a few thousand.
//
// # Metrics
//
// With a ddata.Config.Meter each set reports these, beside those of its entity type. What is called
// no gauge is a counter since the node has started the set.
//
//	coterie_daemon_workers{name}                   gauge: workers whose Run runs here; over all nodes it should be as many as are wanted
//	coterie_daemon_workers_wanted{name}            gauge: workers that shall run, on the node that keeps them alive; elsewhere 0
//	coterie_daemon_rescaling{name}                 gauge: 1 while a rescale is in progress, on that node
//	coterie_daemon_rescales_total{name}            rescales that this node has completed
//	coterie_daemon_keep_alives_total{name}         how often this node has told a worker to run
//	coterie_daemon_keep_alives_failed_total{name}  of these, those that did not get on their way
//	coterie_daemon_starts_total{name}              calls of Run here: many more than there are workers say that they end
//	coterie_daemon_failures_total{name}            of these, those that ended with an error before they were to, or with a panic
package daemon
