// Package remember is the port to where the ids of remembered entities are kept. Without one they
// are replicated data in the durable space of the type's role, which needs nothing beside the
// nodes. A [Store] of one's own may keep them in tables of a database that the entities use anyway.
// It goes into sharding.EntityType.Remember.Store, on every node of the role and every proxy on
// such a node. [Memory] serves tests.
//
// # Nouns
//
// The ids of one entity type are kept in sets, one per shard. Beside them a store knows which
// shards are listed: those that may have ids. It is how a coordinator knows, after all nodes were
// stopped, which shards to start with no traffic. A shard is listed before its first id, and taken
// off the list after its last.
//
// # Calls
//
// The region that hosts a shard loads its set once, and then updates it, one call at a time. The
// coordinator looks at the list when it begins to act, and changes sets of shards that no region
// hosts. The next region loads a set when the calls of the previous one have returned, unless the
// previous one has died or was cut off. Calls about different shards run at one time, up to 64 of
// one region.
//
// # Failures
//
// A call that fails is repeated until it succeeds, with growing pauses; it may have taken effect.
// Each has a context that ends after the time-outs of EntityType.Quorums, and must return soon
// after. The region waits for it however long it takes, because a second call about the same shard
// might overtake it. Meanwhile the entities that run go on. Entities that wait to be remembered
// keep their messages, and the shard is not handed over. The event RememberFailed says why, and so
// does the error that a caller gets when it asks in vain.
//
// A hosting that is over may not know it, because its node stood still or was cut off. ErrFenced tells
// it: the region then writes nothing of the shard any more, keeps the messages that wait for an entity
// to start, and hands the shard over without a write. RememberFailed says so.
//
// # Replicated data
//
// Without a Store the calls carry tokens, and nothing looks at them: replicas join what two regions
// write, so there is no place where one of two writes is the later one. Instead a removal takes away only
// what its region had seen, and the next region hears of it and adds the ids of its entities again.
// Not guaranteed: if that region dies after the removal and before it has heard, its entity is not
// started by itself after the next move.
//
// # Guarantees
//
// They are the laws of [Store]; remembertest holds an implementation to them.
package remember
