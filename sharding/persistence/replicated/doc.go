// Package replicated keeps the state of entities in the replicated data of a role. It needs nothing
// beside the nodes. A [Store] is a persistence.Journal, and has its Snapshots, States and Reader.
// Open it on each node of the role:
//
//	store, err := replicated.Open(node, "backend")
//
// What is stored is in the memory of every node of the role. It is on the disk of every one that
// has a directory (ddata.Config.Dir), because the keys persistence/… are reserved as durable. So it
// is for state that fits into the memory of a node, with few events of an entity between two
// deletions. PostgreSQL (module sharding/persistence/postgres) has room for more.
//
// # How it works
//
// A shard is one key of the durable space. Its items are events, and what decides which of them
// count. Replicas accept every write. So they do not refuse a write of a deposed owner; it does not
// count.
//
// A seat is the right of one process to write to a shard. Its transactions are a chain: each ends
// with a head, which drops the head before it. To take a seat, a process writes its intent at a
// majority, reads the shard by a linearizable read, and writes the first transaction on top of the
// chain that it found. A transaction is settled when it is at a majority and no higher intent was
// found beside it. The file design.md has the proof.
//
// # Costs
//
// An append takes one round trip, and a second one if the acks tell of what has not come here yet.
// Taking a seat takes three. A load by the seat takes one, another one a linearizable read. A query
// begins with a linearizable read of each shard, and with a walk over its items.
//
// # Limits
//
//   - The events of one write: [WriteMax] bytes; the id of an entity: [IDMax] bytes.
//   - A call above 4 MiB goes in several transactions.
//   - Items of at most 16,384 seats may be alive in a shard.
//   - An event takes about 150 bytes of memory beside its body, on each node (BenchmarkHeld: 153
//     with bodies of 100 bytes). So 1 GiB holds about 4 million events of that size.
//
// # Not guaranteed
//
// The store has no disk of its own: Config.Dir must be set on enough nodes. When a majority of the
// role's nodes is gone at once with its disks, so is what only they had. A call needs a majority of
// the role's nodes, and a lease of its own node. It is no persistence.Remover: several shards
// cannot go at one moment.
package replicated
