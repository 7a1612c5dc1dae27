package protocol

// LeastShard keeps the numbers of shards per region near each other, moving few at a time.
type LeastShard struct {
	AbsoluteLimit int     // shards moved per round at most; default 20
	RelativeLimit float64 // the same as a share of all shards, in (0,1]; default 0.1
}

// Allocate implements Strategy.
func (l LeastShard) Allocate(requester UID, shard ShardID, a *Allocations) (UID, bool) {
	return 0, false
}

// Rebalance implements Strategy.
func (l LeastShard) Rebalance(a *Allocations, inProgress []ShardID) []ShardID { return nil }

var _ Strategy = LeastShard{}
