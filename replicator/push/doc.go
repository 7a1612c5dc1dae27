// Package push is the bookkeeping of what goes from one replica to the others unasked: their own
// new groups, and messages that are larger than a frame. It decides nothing and sends nothing.
// Package replicator owns one of each type per space or per peer, and carries out what follows.
//
// # Nouns
//
// The [Outbox] of a space holds its latest own groups, each encoded once for all peers. A [Window]
// is how far one peer is with them: what was pushed, what is unacknowledged, what the peer has. A
// [Bundle] is the groups that go in one message. The [WaitList] holds groups of others that came
// before what they build on.
//
// [Flows] are the messages to one peer that go in parts, one at a time. What a flow carries is its
// [Cargo]; while it waits or gets on it counts as on its way. An [Assembly] puts the parts of one
// message from one peer together again.
//
// # Guarantees
//
//   - Everything is bounded: the Outbox by bytes, a Window by messages and bytes, a WaitList by
//     groups and bytes, Flows by number and bytes, an Assembly by bytes and time.
//   - The log of the store is the only queue. What falls out of an Outbox, finds no place among
//     Flows or in a WaitList is served from the log later, or by a repair.
//   - Two flows to one peer never carry the same.
//
// Times come from the caller, as do sizes. A zero time means never.
package push
