package replicator

import "github.com/coterie-go/coterie/crdt"

// Faults are planted defects. Only the simulator's self-test sets them, to prove that the suite notices each.
type Faults struct {
	AckBeforeCommit      bool        // breaks R7: the content clock answers where the durable one must
	JoinWithoutCatchUp   bool        // breaks R11: a learner serves, acks and says that it has caught up at once
	ReadWithoutCatchUp   bool        // a quorum read replies when enough have answered, not when their clocks are contained
	ReadWithoutAgreement bool        // a linearizable read is answered as one at Majority
	TrustSketch          bool        // breaks R5: a repair is taken though it does not add up to the donor's digest
	Store                crdt.Faults // handed to both spaces
}
