// Package host is the port between a node and its extensions: subsystems that run on a node, share
// its connections and its lease, and that the node knows nothing of. Package sharding is one.
//
// # Nouns
//
//   - A Host is a running node as an extension sees it (ddata.Node.Host): a few interfaces, one per
//     subject. An application does not need it; what it calls are methods of ddata.Node.
//   - Cluster says which members the node knows, Lease whether it may act.
//   - Channels carry an extension's frames. A channel is the hash of a name. An extension claims its
//     channels. On one that is not claimed the node answers what the Question itself brings.
//   - Data is a replica of the data of one role, for a caller that never waits. Host.Data gives the
//     reserved data, a small flow of its own that no user's data holds up; Host.UserData gives that of
//     users.
//   - Attach keeps a value of an extension on the node, so that the extension needs no table of the
//     nodes of its process.
//   - Lifecycle takes part in the node's health and in its end.
//
// # Callbacks
//
// Callbacks come from the node's own goroutines, one at a time per registration and in order. They
// must be quick, must not end the node, and must not be waited for under a lock that they take. A
// call that has begun may still run when cancel returns.
//
// # Guarantees
//
// The node calls nothing of an extension before the extension has registered it. All registrations
// end with the node: nothing of a node outlives it in the process.
package host
