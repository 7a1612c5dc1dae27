// Package dataplane is what messages of one entity type meet on one node: frames that come
// and leave, questions and their answers. The packages beneath have routes, mailboxes, workers and
// entities.
//
// # Nouns
//
//   - A Plane is the data plane of one type on one node. It is made of Settings, without the type
//     parameter of users.
//   - Routes say where the messages of each shard go, and keep those that wait: see package routes.
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
