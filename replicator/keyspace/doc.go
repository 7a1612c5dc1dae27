// Package keyspace says which keys live where. A role has two datasets, that of users and the reserved one
// ([Dataset]); its members have a replicator for each. A replicator keeps two spaces, [Volatile] and
// [Durable]; each key lives in one of them.
//
// [Patterns] name keys, exactly or with stars. [Routes] are the patterns of the durable keys: every
// other key is volatile. Routes never change; a view that makes more keys durable brings others.
//
// # Datasets
//
// Keys that begin with [ReservedPrefix] live in the reserved data, all others in the users'. A key in the
// wrong place is refused ([ErrForeignKey]), also one of a peer or of a disk. A pattern is about the
// reserved keys if it begins with the prefix, too, else about users' keys.
//
// A dataset is chosen by what decides its volume. Events of an origin are delivered in order, so the write
// that a coordinator waits for must not stand behind what users pour into a role. Reserved are the state of
// coordinators and remembered ids, which an extension needs to do its work. The state of entities
// (persistence/…), reminders (reminders/…), offsets of projections (projection/…) and daemons (daemon/…)
// are as large as users make them. They are users' data.
//
// Both are there on every node of a role, with an extension or not: a majority of the reserved data is one
// of all members. One that is not used takes 18 KB and a goroutine, and sends 80 bytes a second.
//
// Small messages of both travel in the Control lane of package ddata/transport, in the order of their
// sending; repairs, and groups larger than a frame, in the Bulk lane. The users' data of a role has at most
// settings.Config.PushWindow bytes of each space on their way to a member (1 MiB, 8 ms at 1 Gbit/s), and a
// reserved message may stand behind them. A lane of its own would take two more connections for each pair
// of nodes.
package keyspace
