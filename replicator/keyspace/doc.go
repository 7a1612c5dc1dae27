// Package keyspace says which keys live where. A replicator keeps two spaces, [Volatile] and
// [Durable]; each key lives in one of them.
//
// [Patterns] name keys, exactly or with stars. [Routes] are the patterns of the durable keys: every
// other key is volatile. Routes never change; a view that makes more keys durable brings others.
package keyspace
