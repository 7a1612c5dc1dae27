// Package rows says how a replica lies in a table: the durable space of one Replicator as rows. The
// node, the simulator and the command coterie data write and read through it.
//
// # Nouns
//
// An item row holds one live item under its dot. The head row holds the clock and the digest that
// belong to the items; it stands in front of them, so that one pass in key order meets the clock
// first. A batch of the replicator is one batch of rows, so items, clock and digest in a table are
// always of one moment (R3). While the replicator writes a large batch in parts, the head row also
// says which item rows count: those within its clock, or those that no mark row names. The others
// are skipped here and dropped by the replicator after its start.
//
// # Guarantees
//
//   - [Load] streams: no more than one item is in memory at a time beside what the reader keeps.
//   - What can not have been written by [Of] is an error that names the row: another format, an
//     item under another dot, items without a head.
//   - [Verify] finds any difference between the items and the digest of their head, as the start of
//     a node does.
//   - [Remove] is an ordinary removal: it is an event of an origin of its own, so that the other
//     replicas take it over when the node comes back, and do not bring back what was removed.
//
// # No guarantees
//
// The digest guards against accidents, not against an attacker that writes rows on purpose.
package rows
