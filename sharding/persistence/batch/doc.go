// Package batch stands between the entities of one region and a store of package persistence.
// Entities ask for writes and loads one by one; the store gets few calls with much in them.
//
// # Nouns
//
//   - A Client, one per region, takes what entities ask for, and calls back when it is done.
//   - A call is one call of the store, about the entities of one hosting. What is asked for while a
//     call is under way joins the next one.
//   - Settings bound and pace the calls.
//
// The decisions are made by the pure machine in batch/calls, whose comment tells how it works. A
// client has one goroutine, and one more for each call under way, however many shards and entities
// there are.
//
// # Guarantees
//
//   - done is called once for each request, and says nil only if the store did.
//   - Fence comes before all other calls of a hosting.
//   - One call of a hosting appends at a time. Writes of one entity are stored in their order.
//   - Deletions are calls of their own beside those, one at a time. One that fails holds up no write. It
//     comes after the writes of its entity that were asked for before it.
//   - A call that fails, with an outcome that is not known, is repeated with the same IDs until
//     Settings.GiveUpAfter. Then its requests end with ErrGaveUp. No write is stored twice.
//   - A write that the store refuses, as ErrConflict, harms no other one of its call. Neither does
//     one for which the whole call ends with an error that no repetition mends.
//   - ErrFenced ends the hosting: all that waits gets it. What had a call with an unknown outcome before
//     gets ErrEnded, for it may have taken effect. End ends the hosting with ErrEnded, and so does the
//     first request of a later hosting of the shard.
//   - A store that panics has failed. A call that hangs holds up its shard, and takes one of
//     Settings.InFlightMax places; its requests end with ErrGaveUp.
//   - A client that finds one of its own rules broken answers everything with ErrBroken. The process
//     goes on, and so does the node.
//   - What waits is bounded by Settings.WaitingMax and WaitingBytes.
//
// # Not guaranteed
//
//   - That a write which was given up, or was under way at Close, has had no effect. See package
//     persistence.
//   - Order between writes and loads of one entity that wait at one time. A write may overtake a
//     deletion, too: delete what is stored.
//   - Memory: the last hosting of a shard is remembered until End.
//
// Client.Report reports metrics; the file design.md has a table of them.
package batch
