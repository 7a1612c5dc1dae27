// Package region holds the machine of one entity type on one node, as region or as proxy.
//
// # Nouns
//
//   - A Region decides where messages for each shard go, and hosts the shards that the coordinator
//     has given to its node. A proxy is a region that hosts nothing.
//   - A route says what the data plane does with a message for a shard: deliver it, send it to
//     another node, or buffer it.
//   - A phase is how far a shard is on its way into this node or out of it.
//   - A barrier is the token of the latest Begin of a shard. Messages are held until an entry or a
//     command is above it.
//   - The floor is the token of the latest coordinator that this region has heard. Commands below
//     it come from deposed coordinators.
//
// # Guarantees
//
//   - A region hosts a shard only by a command that is not below anything that it has obeyed.
//   - It puts a fence on the data lane for a shard before it buffers for a hand-off.
//   - It routes nothing to another node before it is registered, so each hand-off awaits its fence.
//   - It answers each Begin, also when it leaves, has left, or the hand-off is over.
//   - A region that may have been given shards leaves on the word of the coordinator only.
//
// # Not guaranteed
//
// A region never sees a message. It says where messages go; package dataplane buffers, sends
// and delivers them, and reports with Wanted that a buffer has got its first one.
//
// Package protocol tells the whole story: hand-offs, registration, leases.
//
// The package carries no promise of compatibility: it is open to the drivers in sharding and
// proptest/sim.
package region
