// Package journaled keeps the ids of remembered entities in a persistence.Journal: for clusters
// whose nodes have no disks. A [Store] goes into sharding.EntityType.Remember.Store.
//
// # Nouns
//
// Each set of ids has a history of events: what was added and removed, and that the set was loaded.
// So has the list of shards. The histories of a type are the entities of another type in the
// Journal, which [TypeName] names: "ids/" and the number of a shard, and "shards".
//
// After Config.SnapshotAfter events the whole set goes into a snapshot, which the region has
// [Store.Tidy] make: no call waits for it. Config.KeepSnapshots of them stay, and the events after
// the oldest. A set is read from the newest snapshot that is sound.
//
// # Guarantees
//
// They are the laws of remember.Store. Two processes that change one history at one time meet at its
// sequence numbers: the later one reads what the earlier one wrote, and writes after it. The event
// of a load ends what came before: a write whose caller gave it up, or died, takes effect before the
// next load, or never.
//
// # Not guaranteed
//
// A change carries no fencing token: package remember has none in its calls, because what is kept in
// replicated data is a set that joins what two regions write. So a region whose shard another one has
// loaded meanwhile may still write a change that it had begun before: it meets a conflict, reads, and
// writes again, for as long as the call may take (Quorums.WriteTimeout, up to 32 times that after
// failures). A change that it begins after its context has ended, or that died with it, is never
// written. If such a change takes an id away, and the next region has its entity running, the entity
// goes on, and is not started by itself after the next move. If it adds one, the entity is started by
// itself once more. No event or state of an entity is touched: these are fenced.
//
// A snapshot is one value: a set of which it would have more than persistence.BodyMax bytes keeps
// all events, and its loads take longer. A line of the log says so.
package journaled
