package protocol

import "time"

// Moving is a shard on its way from one home to the next, as the coordinator has it.
type Moving struct {
	Shard    ShardID
	From, To UID // 0: not known; To is not, before the old home has stopped the shard
	// Phase is what the coordinator has come to: fencing, while nodes stop to send to the old home; stopping, while
	// that stops the shard; wanted or unallocated, while the shard has no home; writing, while the next is recorded;
	// hosting, while that starts the shard.
	Phase  string
	Awaits int       // fencing: nodes that have not answered
	Since  time.Time // zero: not known, for it was on its way before the coordinator acted
}
