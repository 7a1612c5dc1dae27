// Package crdt is the dotted item store on which all replicated data of Coterie rests, and the data types that are views of it.
// It is pure: no goroutine, lock, clock, randomness or input and output.
//
// # Nouns
//
// An Item is a payload at a path of a key. An Event puts at most one item and removes items that its maker observed; its Dot, the origin's
// random id and a counter, names it for ever. A Group is the events of one Update, which apply, persist and travel whole. The Clock
// is the set of dots that a Store has applied, one for all keys. An item that is absent while its dot is in the clock was removed: there
// are no tombstones. The log holds groups in the order in which they were applied here; the Floor is the part of the clock that the log
// no longer reaches. The Digest is a sum of keyed hashes of the live items.
//
// A data type is a view: ORSet, GCounter, LWWRegister and LWWMap say which dots an operation removes and how concurrent items at one path
// read. A type is its view V together with a mutator T, see Value; a type that nests another gives it a Reader or Tx below a prefix. The
// first byte of every path is the type's Kind, so that two types that meet in one key are an error and not a muddle.
//
// A few things live and end by rules of their own. The items of NodeSet and NodeMap belong to the origin that put them, and readers are not shown
// those of an origin that is not Living. DeleteForever leaves a marker in a key, beside which nothing is shown. Fold brings the counts of
// retired origins down to two items per counter. What nobody is shown any more, Sweep removes. Hiding changes no item, clock or digest: replicas
// that are told of a new view at different times stay equal, and only events change items (R8).
//
// A Store applies; a Replica also makes events; a Standalone is one typed value with a Replica of its own. Snapshot and Reader are
// immutable and free for all goroutines; everything else belongs to one.
//
// # What is guaranteed
//
// Stores with equal clocks have equal items, digests and values, however groups were ordered, lost, repeated, cut into frames or replaced by
// merges. The rules behind this, each of which has a test that fails without it:
//
//   - Apply never drops an item by itself. Concurrent puts at one path stay as siblings, the view picks among them, and the next put removes all
//     that it observed. A put that loses against an observed one (a timestamp of the caller's) makes no event. If apply dropped
//     losers, then a put, a better put and the removal of the better one would end differently in different orders.
//   - An event keeps its payload while it can be shipped, although its item may be gone. A dot without its item tells a receiver that the item was
//     removed; if the removal then never came, repair would delete the item everywhere.
//   - A group applies only when the dots that it removes are in the clock. Until then it waits, and the missing dots are named.
//   - A merge inserts an item only if its dot is not in the clock of that moment, drops one only if the donor's clock has its dot, and joins the clocks
//     in the same step. What a merge brought is never shipped from the log, because its removals are not there.
//   - Equal clocks with different digests, which no correct run makes, are repaired by Union, which drops nothing.
//   - Load takes rows only if they sum to the digest that was committed with them.
//
// Costs do not grow with the key: a write touches one path of a copy-on-write tree, a snapshot copies a few words (and the next write the nodes
// on its way), Missing costs what it returns, an add and its removal leave nothing behind but an interval of the clock.
//
// # What is not
//
// Delivery is not causal: a store may apply an event before another that its maker had seen, except those that it removes. A remove takes
// away what was observed and nothing else, so a concurrent add or put survives it, whatever its timestamp. Two nodes that create one key with
// different types at once make it unreadable (ErrTypeClash) until someone removes all of it. The digest's hash is keyed but not
// cryptographic. An origin that is gone for good still costs an interval of the clock, some ten bytes for the whole store. A value that cannot
// be decoded is left out by the iterators of sets and maps; View reports it when it is the first. What is hidden depends on the view
// that a replica has installed: two replicas with equal clocks and different views may show different elements of a NodeSet.
//
// Background: dotted version vectors and server-wide clocks (Gonçalves et al., DottedDB, SRDS 2017), delta-state CRDTs (Almeida et al., 2018), the
// set without tombstones (Bieniusa et al., 2012), hybrid logical clocks (Kulkarni et al., 2014).
package crdt
