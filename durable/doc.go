// Package durable is the port through which a node keeps rows on disk: what must survive that the
// process, or every process, dies.
//
// # Nouns
//
// An [Env] is the store of one node. It holds named [Table]s, one per Replicator and one called
// "node" with the few rows that the node itself keeps (the id of its disk, its last view). A table
// holds [Row]s, ordered by key. A batch is a slice of rows that become durable together: what
// replicates writes the rows of an event, its clock and its digest as one batch.
//
// Two implementations pass one suite, storetest: [Memory], which the simulator crashes at will, and
// package durable/lmdb, which keeps its promises on a real disk.
//
// Package durable/rows says how a replica lies in a table. The command ddata/console/cmd/coterie
// looks into the directory of a node that is not running, verifies it, compacts it and removes from
// it.
//
// # Guarantees
//
// They are the laws of [Table]. In short: an acknowledged batch is on disk; a batch is there whole
// or not at all; batches keep their order; a failed batch wrote nothing; every failure names the
// file and says what to do ([Error]); nothing ever starts silently from empty.
//
// # No guarantees
//
// There are no reads except the load at the start: the live state is in memory, and the table is
// its shadow. There are no transactions over two tables, and no batch waits for another: a caller
// that needs "the second only if the first" keeps one batch in flight (see the laws).
//
// A disk that lies about having written loses, with a cut of power, what was answered nil. No store
// notices that. The other replicas have what a majority has acknowledged; package replicator says
// how far that goes. A disk that breaks a batch apart is noticed at the start: its rows do not sum
// to their digest, and the node refuses to start until its operator has emptied the directory.
//
// # Modes
//
// A store has one mode: what waited during one sync is committed by the next, together, and an
// answer comes after the sync. A caller that wants fewer syncs commits less often:
// settings.Config.WriteBehind (ddata.Config.WriteBehind) lets a batch gather for an interval.
// There is no mode in which something is acknowledged and not yet synced, nor one that syncs only
// now and then: LMDB uses the pages of old versions again at once, so that a cut of power between
// two syncs can destroy what was synced before, too.
//
// # Why Commit never waits
//
// Commit is called by the goroutine that owns a replicating machine, which also answers heartbeats,
// reads and the acks of others. Were it to wait for a disk that stands still, a slow disk would
// look like a dead node. So Commit only queues; the queue is bounded in bytes; past the bound a
// batch is refused with [ErrOverloaded], in its turn. The machine treats that as any failed commit:
// it withholds the ack, keeps the rows for its next batch, and tells its own callers. It is the one
// that knows what to shed.
package durable
