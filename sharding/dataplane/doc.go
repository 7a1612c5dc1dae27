// Package dataplane is what messages of one entity type meet on one node: routes, buffers, lanes,
// and frames that come and leave. The packages beneath have mailboxes, workers and entities.
//
// # Nouns
//
//   - A Plane is the data plane of one type on one node. It is made of Settings, without the type
//     parameter of users.
//   - Routes say where the messages of each shard go: to a Shard of this node, to another node, or
//     into a Buffer while the home is unknown or moving. Senders read them without a lock.
//   - A lane takes what other nodes have sent to a shard here.
//   - Shards hosted here run their entities: see package entities.
//   - The outbox makes the frames that leave, and answers questions. Package asks keeps those that
//     wait for an answer.
//   - The Controller is the control plane, as the data plane sees it. Nothing waits for it.
//
// # Guarantees
//
//   - No message overtakes another of the same sender to the same entity, whether it goes to a
//     mailbox, into a buffer or along a connection.
//   - Everything that waits is bounded, and each message that is lost is counted with its reason.
//
// # Not guaranteed
//
//   - Nothing here decides where a shard lives: package control does, by the machines of
//     sharding/protocol.
//   - Nothing here runs a handler: package entities does.
//
// The package carries no promise of compatibility: users see it through package sharding.
package dataplane
