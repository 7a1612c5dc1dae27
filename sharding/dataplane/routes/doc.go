// Package routes says where the messages of each shard go, and keeps those that wait for a home.
//
// # Nouns
//
//   - A Table has a Route, a lane and a hosted shard for each number of a shard. Senders read it
//     without a lock; the control loop changes it.
//   - A Route leads to a shard of this node, to another node, or into a Buffer.
//   - A Buffer holds the messages of one shard while its home is unknown or moving. The Limit bounds
//     all buffers together.
//   - A lane takes what other nodes have sent to a shard here, which a route that waits does not hold
//     back.
//   - The Carrier sends messages off, and answers those that get nowhere. The Control hears what
//     waits. Nothing waits for either.
//
// # How a route opens
//
// The control loop sets the route that a buffer is for. The flush sends along it what waits, in
// order, under the buffer's lock. Senders wait for that lock meanwhile, and then look for the route
// again. What finds no room stays, and the flush is tried later.
//
// # Guarantees
//
//   - No message overtakes another of the same sender to the same entity, whether the route
//     buffers, opens or changes.
//   - What waited in the mailboxes of a shard that was closed goes before what waits for its next
//     home. So does what never left for a node that is gone.
//   - Each message that is dropped is discarded with its reason.
//
// # Not guaranteed
//
//   - Nothing here decides where a shard lives: package control does.
//
// The package carries no promise of compatibility: users see it through package sharding.
package routes
