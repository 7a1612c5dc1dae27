// Package crdt is the dotted item store on which all replicated data of Coterie rests, and the data
// types that are views of it. It is pure: no goroutine, lock, clock, randomness or input and
// output.
//
// # For users
//
// A user of package ddata needs the types of the table below (Types) and their mutators, whose
// names end in Tx: ddata.Get returns an ORSet[string], ddata.Update hands out its *ORSetTx[string].
// Beyond those, of this package:
//
//   - the errors of Update: ErrTypeClash, ErrKey, ErrTooLarge, ErrElement, ErrOverflow, ErrDeleted,
//     ErrPanic; and the limits KeyMax, PayloadMax, EventsMax
//   - AppendElement and AppendValue, for which Go types can be elements, keys and values, and what
//     happens when a struct changes
//   - Value, or Whole and State, for a type of one's own, with ExampleWhole and the example of
//     Value; Mutate and ViewOf for calls without a type
//   - New and Standalone to try a type without a cluster
//
// All else, Store, Replica, Clock, Group, Snapshot, Sketcher and so on, is for package replicator
// and for other protocols.
//
// # Nouns
//
// An Item is a payload at a path of a key. An Event puts at most one item and removes items that
// its maker observed; its Dot, the origin's random id and a counter, names it permanently. A Group
// is the events of one Update, which apply, persist and travel whole. The Clock is the set of dots
// that a Store has applied, one for all keys. An item that is absent while its dot is in the clock
// was removed: there are no tombstones. The log holds groups in the order in which they were
// applied here; the Floor is the part of the clock that the log no longer reaches. The Digest is a
// sum of keyed hashes of the live items. The sketch (package iblt) is a row of cells over the dots
// of the live items, kept current when StoreOptions ask for it; a Pinned moment holds it together
// with a Snapshot, and two of them tell in which dots their stores differ: by ranges where one
// clock lacks the dots (In), by a Sketcher and a DotFinder where both have them.
//
// A data type is a view: it says which dots an operation removes and how concurrent items at one
// path read. A type is its view V together with a mutator T, see Value; a type that nests another
// gives it a Reader or Tx below a prefix. The first byte of every path is the type's Kind, so that
// two types that meet in one key are an error and not a muddle.
//
// A few things live and end by rules of their own. The items of NodeSet and NodeMap belong to the
// origin that put them, and readers are not shown those of an origin that is not Living.
// DeleteForever leaves a marker in a key, beside which nothing is shown. FoldOf brings the counts
// of retired origins down to two items per counter. Sweep removes what no reader is shown any more.
// Hiding changes no item, clock or digest: replicas that are told of a new view at different times
// stay equal, and only events change items (R8).
//
// A Store applies; a Replica also makes events; a Standalone is one typed value with a Replica of
// its own. Snapshot and Reader are immutable and free for all goroutines; everything else belongs
// to one.
//
// # What is guaranteed
//
// Stores with equal clocks have equal items, digests and values, however groups were ordered, lost,
// repeated, cut into frames or replaced by merges. The rules behind this, each of which has a test
// that fails without it:
//
//   - Apply never drops an item by itself. Concurrent puts at one path stay as siblings, the view
//     picks among them, and the next put removes all that it observed. A put that loses against an
//     observed one (a timestamp of the caller's) makes no event. If apply dropped losers, then a
//     put, a better put and the removal of the better one would end differently in different
//     orders.
//   - An event keeps its payload while it can be shipped, although its item may be gone. A dot
//     without its item tells a receiver that the item was removed; if the removal then never came,
//     repair would delete the item everywhere.
//   - A group applies only when the dots that it removes are in the clock. Until then it waits, and
//     the missing dots are named.
//   - A merge inserts an item only if its dot is not in the clock of that moment. It drops one only
//     if the donor's clock has its dot. It joins the clocks in the same step. What a merge brought
//     is never shipped from the log, because its removals are not there.
//   - Equal clocks with different digests, which no correct run makes, are repaired by Union, which
//     drops nothing.
//   - Load takes rows only if they sum to the digest that was committed with them.
//
// Costs do not grow with the key. A write touches one path of a copy-on-write tree. A snapshot
// copies a few words, and the next write copies the nodes on its way. Missing and MergeDiff cost
// what they return and take. An add and its removal leave only an interval of the clock. A sketch
// of 16,384 cells adds less than a tenth to a change, and is kept only where there are items enough
// for a walk over them to be worse.
//
// # Rules
//
// Comments and tests name these rules by R and a number. Package replicator has the others.
//
//   - R1: an event drops nothing by itself. Concurrent puts at one path stay side by side, at most
//     one of each origin. The next put or remove takes those that it has observed. A put that loses
//     to what its writer observes makes no event.
//   - R2: an event ships with its payload, or, if a later one has superseded it, together with that
//     one. Both are applied at once.
//   - R10: a key of a map exists while anything lives below it. Each update of the key puts it
//     anew. Its removal takes all that is observed below.
//
// # Types
//
//	type               operations that are concurrent                                          read             write
//	Flag               enabled                                                                 1                1
//	EWFlag             Enable wins over Disable                                                1                1
//	GCounter           all count                                                               o                o
//	PNCounter          all count                                                               o                o
//	GSet[E]            all are in                                                              1, All n         1
//	ORSet[E]           Add wins over Remove and Clear of the same element                      1, All n         1, Clear n
//	LWWRegister[V]     the last Put: by timestamp, origin, bytes; it wins over Remove          s                s
//	FWWRegister[V]     the first Put, in the same order; it wins over Remove                   s                s
//	MVRegister[V]      all Puts, until one that has observed them; they win over Remove        s                s
//	LWWMap[K, V]       of each key as LWWRegister                                              s, All n         s, Clear n
//	ORMap[K, V, T]     of each value as V; Update wins over Remove with what it has put        1, All and Len k as T, Remove what it removes
//	ORMultiMap[K, E]   of each binding as ORSet                                                1, All n         1, RemoveKey what it removes
//	PNCounterMap[K]    all count; Increment wins over Remove with its origin's balance         o, All and Len k o, Remove o
//	Whole[S]           what Merge of S makes of them                                           s times the size of S
//	NodeSet[E]         each node has its own adds, which its own Remove and its end take away  1, All n         1
//	NodeMap[K, V]      each node has its own Put; the last of the living ones is shown         s, All n         s
//
// The costs are descents of the tree of the key, O(log n) each, 1 for one: n elements or entries, k
// keys, o origins that have counted, s siblings, which are the origins that wrote concurrently and
// usually one. Len of sets, of LWWMap and of ORMultiMap (its bindings) is a field when the value is
// a whole key, and a walk over what is counted when it is nested. View costs a descent, for it
// looks at the first and the last item for another kind and decodes the first; the counters and
// registers read all, as Whole does; ORMap views its first value. Views and iterators never change.
// A value that holds slices or maps is decoded for each caller, except those of LWWRegister,
// FWWRegister and Whole, of which a view holds one: read it only.
//
// Put, Add and Enable make an event whether or not they change what is read, since they win over a
// concurrent removal. A caller that repeats them should look first. These make no event: what loses
// (a put with a timestamp of the caller's, or in an FWWRegister that is set), an increment by zero,
// and a removal that finds nothing.
//
// Elements and keys are strings, integers, bools, arrays of bytes, types with a binary codec of
// their own and whatever comparable survives CBOR, see AppendElement; values are what survives
// CBOR, see AppendValue. Timestamps are hybrid logical clocks: the wall time of the writer, or one
// above what is observed. A clock that is far ahead makes a register's time logical and locks no
// writer out, see Timestamp.Next.
//
// Users' own types: either items, a type that implements Value with what its own types use too (Tx,
// Reader, ElementPath, SegmentPath, CheckElements, AppendValue, Timestamp), or one value as a whole
// that knows how to merge, see Whole.
//
// What differs from the types of Akka and Pekko, and why:
//
//   - All types send what has changed. There Flag and LWWRegister have no delta and travel only by
//     gossip, and a delta of a map carries whole values.
//   - Counters have 64 bits and ErrOverflow, not numbers of any size: a count is one small item,
//     and a sum out of range, which replicas that count at once can bring about, is an error.
//     Counting back mends it in PNCounter and PNCounterMap; a GCounter cannot, its key must be
//     deleted.
//   - LWW ties: the higher origin, then the higher bytes; there the lower address, and two values
//     of one node with one timestamp never converge. The timestamp takes nanoseconds and counts on,
//     so that writes of one millisecond have an order.
//   - First writer wins is a type whose Put reports whether it won. There it is a clock that runs
//     backwards, handed to every write.
//   - EWFlag, MVRegister, NodeSet and NodeMap are not there.
//   - A removal that arrives before what it removes waits for it. There the delta of a removal can
//     overtake that of the add, which then stays until the next full gossip.
//   - ORMap has no put of a finished value, since a value is a view: Remove and Update in one
//     Update make a value anew. Update beside a concurrent Remove leaves what it has put. Whether
//     the old content comes back then depends on what each replica had seen.
//   - A counter in a removed key keeps the whole balance of an origin that counts concurrently,
//     because an origin keeps one number and not its increments. There the balances of all origins
//     come back.
//   - ORMultiMap never loses a removal to the add of another binding of the key, and has one form.
//     There the plain form does, and the form with value deltas must not be mixed with it.
//   - A value of another type under a map's key is ErrTypeClash until it is removed. There such a
//     merge always fails.
//   - There is no version vector among the types: the one clock of the store does its work.
//
// # What is not
//
// Delivery is not causal: a store may apply an event before another that its maker had seen, except
// those that it removes. A remove takes away what was observed and nothing else, so a concurrent
// add or put survives it, whatever its timestamp; put by put and not value by value, so that a
// register's loser that the remover had not seen comes to light. Two nodes that create one key with
// different types at once make it unreadable (ErrTypeClash) until a write removes all of it. The
// digest's hash is keyed but not cryptographic. An origin that is gone for good costs a row of the
// clock, some ten bytes for the whole store, until it is closed (package dots): a caller may merge
// a clock of closed origins when it knows that no event of theirs can come any more. Then they cost
// nothing, and what lives of them goes on. A value that cannot be decoded is left out by the
// iterators of sets and maps; View reports it when it is the first. What is hidden depends on the
// view that a replica has installed: two replicas with equal clocks and different views may show
// different elements of a NodeSet.
//
// Background: dotted version vectors and server-wide clocks (Gonçalves et al., DottedDB, SRDS
// 2017), delta-state CRDTs (Almeida et al., 2018), the set without tombstones (Bieniusa et al.,
// 2012), hybrid logical clocks (Kulkarni et al., 2014).
package crdt
