// Package calls decides which call a client of a store of entities' state makes next, and with what
// in it. It is the pure machine of sharding/persistence/batch, and carries no promise of
// compatibility.
//
// # Nouns
//
//   - An Op is one thing that is asked of the store about one entity, such as a write.
//   - A Call is one call of the store. It carries one Op, or many of the same Kind and Hosting.
//   - A lane is what waits of one hosting for calls that must not overlap. Each Kind has its own.
//
// # How it works
//
// Submit puts an Op into its lane. Flush begins calls: each lane has at most one under way, and all
// lanes together InFlightMax. Lanes take turns. What comes while a call of its lane is under way
// joins the next one. Callers that were answered together ask together again: the next call waits for
// them, at most 10 ms and as long as the last one took (gather.go). The first call of a hosting to each
// store is Fence.
//
// A call whose outcome is unknown is repeated after a pause that grows. An Op that is not done after
// GiveUpAfter ends with ErrGaveUp. An error that no repetition mends ends the Op if it was alone in
// its call. Otherwise each Op of the call is tried alone, so that it harms no other one.
//
// # Guarantees
//
// Each Op is done once. Ops of one entity and lane reach the store in the order of their Submit, the
// next one after the one before is done. A deletion goes beside the writes, and holds up none; it comes
// after those of its entity that were submitted before it. Nothing is called for a hosting that has ended. What is
// held is bounded by WaitingMax and WaitingBytes.
package calls
