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
// Each event has the token of the hosting that wrote it. A load or a change of a set whose history has
// an event with a later token gets remember.ErrFenced and is not written: so a region whose shard another
// one has loaded changes nothing any more, however long its calls go on. On the list of shards, which the
// hostings of all shards write, the tokens are those of each shard: a late change of one stays in the
// history and has no effect.
//
// The tokens lie in the histories, and not in the fences of the Journal (persistence.Fencer), which no
// call can be above again. So a tool without a token can read and write what nodes have left, while none
// runs (package transfer), and nodes go on after it.
//
// # Not guaranteed
//
// Tokens of a cluster that was founded anew are higher because of the founder's wall clock
// (ddata.FencingToken). If that is behind, the loads of all shards that had ids fail with
// remember.ErrFenced, and the event RememberFailed says so. Founding again when the clock is right helps.
//
// A snapshot is one value: a set of which it would have more than persistence.BodyMax bytes keeps
// all events, and its loads take longer. A line of the log says so.
package journaled
