// Package requests says of the reads and the writes of a Replicator how long they take, and shows them in
// the traces of their callers.
//
// # Nouns
//
//   - The Requests are those of one dataset on one node. Without a Meter nothing is timed, and without a
//     Tracer nothing is traced.
//
// A span is called by the operation and the role: "update default". It is a client's, and has these
// attributes, those of databases by the conventions of OpenTelemetry:
//
//	db.system.name       "coterie"
//	db.operation.name    get, update, delete or delete forever
//	db.collection.name   the role
//	coterie.key          the key
//	coterie.consistency  how many replicas it asked
//
// Reads at ddata.ReadLocal have no span: most of them take less time than one.
package requests
