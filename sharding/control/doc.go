// Package control is the control plane of one entity type on one node: it steps the machines of
// sharding/protocol, and carries out what they want.
//
// # Nouns
//
//   - A Plane steps the Region machine, and one Shard machine for each shard that runs here. It
//     belongs to the goroutine of its loop.
//   - The coordination steps the Coordinator machine, in a loop of its own.
//   - The inbox takes what the data plane and other goroutines tell the loop; the observer does so
//     for connections, the lease, other nodes, views and what is kept.
//   - Mail carries the messages between machines. The state store reads and writes what they keep.
//   - A lease client asks an outside store for one lease, on a goroutine of its own.
//
// # Guarantees
//
//   - Machines never step each other: what one says to another waits until the step is over.
//   - A step waits for nothing. What may take long runs beside the loop, and its result comes back
//     as an input.
//   - The time comes from the loop, with each step.
//   - The lease of a shard is given back when no handler runs under it, and no write.
//
// # Not guaranteed
//
//   - A message to another node may be lost: the machines repeat what is not answered.
//
// The package carries no promise of compatibility: users see it through package sharding.
package control
