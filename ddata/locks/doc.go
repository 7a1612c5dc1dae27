// Package locks is the port to an arbiter outside of the cluster: a named lock that one owner holds
// at a time, and a small record under it.
//
// # Nouns
//
// A [Store] is the place where leases are kept, one for all that contend for them: a directory of
// one host (package locks/file), a schema of PostgreSQL, a cluster of etcd or objects of Kubernetes for several
// hosts (packages locks/postgres, locks/etcd and locks/kubernetes, modules of their own), memory ([Memory]), or
// what others write for theirs. A [Lock] is the door of one owner to one name in it. The owner acquires it, is
// its holder, and releases it or loses it. Under a lease lies a record of bytes that only the holder
// may replace; it outlives holders, and is what one tells the next.
//
// # Guarantees
//
// They are the laws of [Lock], which package lockstest holds every implementation to. In short: a
// name has one holder at a time, and one that loses it is past its Until, or has died, before there
// is another; a saved record is durable, and no save of an earlier holder comes after the record
// was loaded by a later one.
//
// # No guarantees
//
// A lease is not fair: a caller that tries at the right moment gets it. What a holder does to the
// world outside between two looks at Until is its own affair.
package locks
