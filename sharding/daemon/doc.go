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
// The file design.md has a table of the metrics.
package daemon
