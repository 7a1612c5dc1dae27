// Package directories reads and writes the remembered ids that are in the directories of nodes, while
// none of the nodes runs. It is for the move to a store outside, and back.
//
// # Nouns
//
// A [Store] is a remember.Store of one entity type over the tables of the reserved data of its role, one
// table of each node's directory (rows.Table). What it reads is what the nodes would agree on: an id that one node
// has removed is gone, although another one has not heard of it. What it writes it writes to every
// table.
//
// # Guarantees
//
// A call is one commit in each table. What a call has written is an event of an origin of its own, as a
// node's write: the nodes take it over when they start, whichever of them do. A call that was cut by a
// crash can be repeated.
//
// # Not guaranteed
//
// An id of which only a directory knows that was not given is not found. Its node brings it back. Give
// the directories of all nodes of the role. The whole of the role's reserved data that is durable is in memory
// meanwhile, once for each directory.
package directories
