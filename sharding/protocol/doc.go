// Package protocol is what the three pure machines of cluster sharding share: ids, tokens, messages
// and their form on the wire, inputs, effects, events and settings. The machines decide where
// entities live; each has a package of its own below: coordinator, region, shard. Goroutines,
// sockets, mailboxes and the entities themselves belong to package dataplane. Package control
// drives the machines. The package makes no promise of compatibility.
//
// # Nouns
//
//   - A shard is a group of entities that move together. ShardOf says which shard an id belongs to.
//   - A Region is the part of an entity type on one node: it knows where messages for each shard
//     go, and hosts shards. On a node without the type's role it is a proxy, which hosts nothing.
//   - The Coordinator, one per type, gives each shard its home. It acts on the member that the view
//     has in charge of the type (view.Line), the first that started it.
//   - A Shard machine is the life of the entities of one hosted shard.
//   - The table is the replicated map from shard to home. Its entries carry tokens.
//   - A Token orders all commands that were ever given for a type: the epoch of the view, the up
//     number of the coordinator, its count.
//   - A hand-off moves a shard. A fence is the last thing that a region puts on the data lane for a
//     shard before it buffers.
//
// # Three ideas
//
//   - The table is a route, not a permission. A region hosts a shard only when a coordinator
//     commands it, with a token that is not below anything it has obeyed. So a late write
//     misdirects some messages, and makes no region host.
//   - In a hand-off every region fences and buffers first. Then the owner drains what has come
//     before the fences, and stops. Then the new home starts, and every buffer is released to it.
//   - A region is given shards only when it has confirmed that it is registered. From then on it
//     asks before it leaves.
//
// # Guarantees
//
//   - No two nodes host a shard at one time, given that views and leases are what package
//     membership promises.
//   - A planned hand-off loses no message and keeps the order of each sender to each entity.
//   - Any node may die, and any control message may be lost, repeated or late, in every phase.
//   - In the end every shard with traffic, and every shard with remembered ids, has a home.
//   - A remembered id of a running entity is in the set when the entity starts, and stays there
//     until it was passivated.
//
// # Not guaranteed
//
//   - Messages on their way to a node that dies, or in its mailboxes, are lost.
//   - There is no order between senders, nor of one across the death of a home.
//   - A hand-off whose owner has a handler that does not return is aborted and tried again.
//
// The file design.md has the diagram of a hand-off, registration, stops, the shutdown of a cluster,
// remembered entities, changes of the number of shards, leases of outside stores, and how the
// machines are driven.
package protocol
