// Package crdt has the replicated data types of Coterie: sets, maps, registers, counters and flags.
// Below them is the dotted item store on which all of them rest. The package is pure: no goroutine,
// lock, clock, randomness or input and output.
//
// # For users
//
// A user of package ddata needs the types and their mutators, whose names end in Tx. ddata.Get
// returns an ORSet[string], ddata.Update hands out its *ORSetTx[string]. Of two operations at one
// time:
//
//	Flag, EWFlag            once enabled stays so; Enable wins over Disable
//	GCounter, PNCounter     all count
//	GSet, ORSet             all adds are in; Add wins over Remove
//	LWWRegister, LWWMap     the last Put wins, by the writers' clocks
//	FWWRegister             the first Put wins
//	MVRegister              all Puts are kept until one has observed them
//	ORMap                   values merge by their own type; Update wins over Remove
//	ORMultiMap              each binding as in ORSet
//	PNCounterMap            all count
//	NodeSet, NodeMap        what each node has put; it ends with the node
//	Whole                   what the Merge of your type says
//
// Beyond those a user needs the errors of Update (ErrTypeClash, ErrTooLarge and others), and
// AppendElement and AppendValue, which say which Go types can be elements and values. New and
// Standalone try a type without a cluster. For a type of one's own see Value, or Whole and State,
// and hold it to the laws of package proptest. All else, Store, Replica, Clock, Group and so on, is
// for package replicator and for other protocols.
//
// # Three ideas
//
//   - Each put makes an item with a dot: the random id of its replica and a counter. A Store has
//     one clock of the dots that it has applied. An item whose dot is in the clock, and that is
//     absent, was removed. There are no tombstones.
//   - An operation removes only what its replica has observed. What was put at the same time stays
//     beside it.
//   - A type is a view: it says which dots an operation removes, and how items that stand side by
//     side are read.
//
// # Guarantees
//
// Stores with equal clocks have equal items, digests and values. It does not matter how groups were
// ordered, lost, repeated, cut into frames or replaced by merges. Costs do not grow with the key: a
// write touches one path of a copy-on-write tree. Snapshots, views and readers never change.
//
// # Not guaranteed
//
// Delivery is not causal: a store may apply an event before another that its maker had seen. A
// remove takes away what was observed and nothing else, so a concurrent add survives it. Two nodes
// that create one key with different types at once make it unreadable (ErrTypeClash) until a write
// removes all of it. Last-writer types trust the writers' clocks.
//
// The guides in the folder doc say which type to use when. The file design.md has the nouns of the
// store, the rules R1, R2 and R10, a table of costs, and what differs from Akka and Pekko.
package crdt
