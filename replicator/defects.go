package replicator

import "github.com/coterie-go/coterie/crdt"

// Defects are planted errors. Only the simulator's self-test sets them, to prove that the suite
// notices each. They are exported because it does so from outside, through the Config of a whole
// node's machines; package ddata refuses a Config that has any.
type Defects struct {
	AckBeforeCommit      bool         // breaks R7: the content clock answers where the durable one must
	JoinWithoutCatchUp   bool         // breaks R11: a learner serves, acks and says that it has caught up at once
	CountAnyEpoch        bool         // breaks V7: acks of peers in other views count
	ReadWithoutCatchUp   bool         // a quorum read replies when enough have answered, not when their clocks are contained
	ReadWithoutAgreement bool         // a linearizable read is answered as one at Majority
	TrustSketch          bool         // breaks R5: a repair is taken though it does not add up to the donor's digest
	TidyInOldView        bool         // breaks R8: the oldest tidies in its view although it has heard of a newer one
	ExpireUnasked        bool         // a key expires without a look at what a majority has of it
	FoldUnasked          bool         // breaks R6: what removed members counted is folded before all have said what they have of it
	MoveUnasked          bool         // a replica moves what it has of the keys that become durable, whatever the others have
	MoveUnfrozen         bool         // updates of keys that are being moved are made at once, in the volatile space
	Store                crdt.Defects // handed to both spaces
}
