// Package singletons runs what has to run on one node of a role at a time: on the oldest member that
// has it. An application uses it as ddata.Node.RunSingleton.
//
// # Nouns
//
//   - Singletons are those of one node. Of finds them, and serves their channel from the first call on.
//   - A Singleton is this node's part in running something once. Its Config says what that is.
//
// Where it runs is decided by the pure machine in ddata/membership/singleton. The driver here stands on
// a host.Host alone, so a simulated node runs it too: time, waiting and what runs beside its callers
// are those of the host's Scheduler.
//
// # Guarantees
//
//   - At no instant two nodes run it that hold their leases.
//   - Each run has a higher FencingToken than all before it, on whatever node.
//   - When the node that runs it is gone, loses its lease or leaves, and a member of the role holds its
//     lease, it runs again.
//   - A node that leaves hands over when Run has returned, and not before.
//
// # Not guaranteed
//
//   - That Run ends with the lease. It is told to end by its context, and nothing can kill it. What it has
//     sent to a store outside may arrive there after the next run has begun. A store that refuses lower
//     tokens than the highest that it has seen is safe from both.
//   - That it runs somewhere at every instant: after a crash it waits for the view without the dead node.
package singletons
