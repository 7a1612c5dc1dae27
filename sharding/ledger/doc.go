// Package ledger keeps the state of the coordinator of one entity type in a persistence.Journal: the
// homes of shards, and the regions that have registered. It is for clusters whose nodes have no
// disk, beside package journaled for the ids. A [Ledger] goes into
// sharding.EntityType.Coordination.Ledger.
//
// # Nouns
//
// The homes and the regions have a history of events each, "homes" and "regions". They are the
// entities of a type of their own in the Journal, which [TypeName] names, in its shard 0. A term is
// the time for which a coordinator acts. Its token is the fencing token of that shard.
//
// # Guarantees
//
//   - A coordinator begins its term with a read, which fences the Journal. From then on no write of
//     an earlier term takes effect, whatever paused its node. The earlier coordinator is told
//     protocol.ErrDeposed.
//   - What was answered nil is there for each later term, whichever nodes are gone.
//   - Homes and regions of an earlier founding of the cluster are not read: none of these nodes is in
//     this one. Their shards get homes anew.
//   - After Config.SnapshotAfter events there is a snapshot; Config.KeepSnapshots of them stay. No
//     write waits for that.
//
// # Not guaranteed
//
// Tokens of a cluster that was founded anew are higher because of the founder's wall clock
// (ddata.FencingToken). If that is behind, each read fails with protocol.ErrDeposed, and the
// coordinator says so (protocol.StateFailed). Founding again when the clock is right helps. So does
// [Remove] with all nodes stopped, and so does another Journal: homes are made anew in each founding.
//
// A history that is damaged lets no coordinator begin. protocol.StateFailed and the errors of Ask name
// it. Remove helps there, too.
package ledger
