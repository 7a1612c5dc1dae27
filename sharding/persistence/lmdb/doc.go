// Package lmdb keeps the state of entities in a directory, for one node: for development, and for
// services of a single node. A [Store] is a persistence.Journal, and has its Snapshots, States and
// Reader. It stands on package durable/lmdb, which locks the directory, groups commits and checks
// the file.
//
//	store, err := lmdb.Open("/var/lib/shop/entities", lmdb.Options{})
//	defer store.Close()
//
// Open it before the node is started, and close it after the node has left: entities write when
// they stop. After Close every call fails with persistence.ErrClosed.
//
// # Guarantees
//
//   - The laws of the port, which persistencetest checks. What was answered nil is there after a
//     kill, and after a cut of power.
//   - One process. A second one gets durable.ErrInUse with the pid of the first. A directory of
//     something else is persistence.ErrForeign, one of a newer program persistence.ErrVersion.
//   - A full disk fails writes with durable.ErrFull. What was answered stays readable, and writes
//     succeed again when there is room.
//   - Each value has a checksum. A damaged one is persistence.ErrDamaged, which names the entity and
//     the number; a damaged snapshot comes without a body.
//   - Calls of one shard take turns. Calls of all shards share transactions and their sync.
//
// # Not guaranteed
//
// Another node cannot open the directory: a shard that moves there does not find its entities.
// The function of a load must not call the store: the load holds a view of the file. The store reads
// no clock. A directory that is removed while it is open is not missed: writes succeed, and are lost
// when the process ends.
//
// The store is no persistence.Remover: the key of a snapshot does not say of which type it is. To
// forget everything, stop the node and remove the directory.
//
// # Format
//
// The note of the directory is "coterie entities\nformat 1\n". The rows lie in the table "entities".
// A ref is the SHA-256 of the CBOR array of type and id. Integers in keys are big-endian.
//
//	"e" ref seq       an event          "f" shard type   the fence of a shard
//	"h" ref           end of a history  "l" type number  what a reader meets at an offset
//	"s" ref seq       a snapshot        "n"              the last number that was used
//	"v" ref           a state
//
// A type in a key has its length in one byte before it. A value is the byte 1, a checksum of eight
// bytes (xxh3 of the key and the rest), and a CBOR array; that of an event has its number, eight
// bytes, before the array. rows.go draws the arrays.
package lmdb
