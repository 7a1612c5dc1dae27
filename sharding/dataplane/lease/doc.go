// Package lease is what the data plane knows of leases: that of its node, and those of its shards
// from a store outside of the cluster.
//
// # Nouns
//
//   - A Node is the node's lease as handlers see it: the parent of their contexts. An entity that
//     has no lease for its next message is suspended there.
//   - A Hold is one time of holding a lease. It closes once.
//   - A Shard is the lease of one shard, with what goes on under it.
//   - Stores are those of an entity type, with the names under which leases are asked for.
//
// # Guarantees
//
//   - Holds and Open read the clock: what they report is true at the moment of asking.
//   - A lease is given back when no worker's turn and no write goes on under it.
//   - A suspended entity goes on at most 10 ms after the node's lease is back, also if it was
//     renewed without a word.
//
// # Not guaranteed
//
//   - Nothing here asks a store. Package control does, on goroutines of its own.
//
// The package carries no promise of compatibility: users see it through package sharding.
package lease
