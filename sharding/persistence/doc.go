// Package persistence is the port to where entities keep their state: a [Journal] of events with
// [Snapshots] beside it, or one value per entity in [States]. A [Reader] reads the events of a type
// over all its entities. An adapter implements what its store can do; persistencetest holds it to
// the laws.
//
// # Nouns
//
// The history of an entity is its events, numbered from 1 without a gap. A [Write] appends some of
// them: all, or none. A [Hosting] is one stay of a shard on a node. It has a fencing token, which is
// higher than those of all hostings of the shard before it. Writes name their hosting.
//
// # Calls
//
// The region calls Fence once when a hosting begins, before it loads anything. Then it loads what
// its entities need, and appends. It has at most one write of an entity at a time on its way, and
// puts what waits of all entities of a shard into one call. Calls about different shards run at one
// time.
//
// # Guarantees
//
// They are the laws of the interfaces. In short: what was answered nil is there for each later call
// of each node, and after a stop of all of them; a write takes effect once, however often it is
// repeated; no write takes effect beside another one of the same sequence number; none of a deposed
// owner takes effect after its successor's Fence has returned.
//
// # Not guaranteed
//
// A write whose outcome is unknown may take effect later, as long as its hosting is not fenced. So
// an owner that gives a write up, and starts its entity again, may find that its next write is in
// conflict: then it loads again, and finds the earlier one.
//
// The fence is the shard's. After a change of the number of shards, which needs a stop of the whole
// cluster, it does not bind a process of the former cluster that was paused all the time. Sequence
// numbers do: such a process can append only what nothing else has appended, and the owner notices
// it by ErrConflict.
package persistence
