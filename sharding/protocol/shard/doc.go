// Package shard holds the machine of one hosted shard: the life of its entities.
//
// # Nouns
//
//   - A Shard knows the state of each of its entities: remembered, started, passivated, stopped. An
//     active entity does not need it: it is asked when a message comes for an id that is not
//     active, when an entity ends, and when ids are written.
//   - The remembered ids are the set of ids of a shard in the durable space. The shard starts them
//     again without a message.
//   - The index is the set of the shards that have remembered ids.
//   - A stranger is an id in the set that belongs to another shard, since the number of shards or
//     the hash has changed.
//
// # Remembered ids
//
// At most one write is under way; changes that come meanwhile travel together in the next one. The
// shard is put into the index before its first id, and taken out after its last. A write or a read
// that fails is repeated after an eighth of RetryInterval, then after twice as long each time, up
// to RetryInterval. Nothing is given up, and an event reports it once. A stranger is started in its
// shard, which remembers it, and then forgotten here.
//
// # Guarantees
//
//   - An id is in the set before its entity starts, and stays there until it was passivated.
//   - The shard has stopped when no entity runs and no write is under way, and when its lease is
//     back or one interval has passed.
//   - A shard with a lease loads nothing and starts nothing before the lease is granted.
//
// # Not guaranteed
//
// A handler that does not return keeps the shard from stopping. The event StopStuck names it.
//
// The package carries no promise of compatibility: it is open to the drivers in sharding and
// proptest/sim.
package shard
