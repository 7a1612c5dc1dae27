// Package allocation decides which region is the home of which shard. It holds the Strategy port
// and the strategies; package sharding/protocol/coordinator asks them, and carries out what they
// choose.
//
//	LeastShard         equal numbers of shards, many per round: the default
//	Threshold          equal numbers of shards, few at a time: Akka's older algorithm
//	ConsistentHashing  a home that depends on nothing except which regions there are, with bounded load
//	External           what an outside client wants, see sharding.ExternalClient
//	LoadAware          equal load: messages, handler time, entities
//
// # Strategies of one's own
//
// Any type may implement Strategy. It may take its time, wait, panic, and name what does not exist:
// it is called beside the coordinator, one call at a time, on a copy of what the coordinator knows.
// Where it misbehaves the failure is counted and reported and, for the home of a shard, LeastShard
// answers in its place. A round of rebalancing that panics moves nothing. When it does not answer
// in time, LeastShard chooses homes until it does.
//
// # Guarantees
//
//   - The strategies of this package are functions of what they are handed: two that see the same
//     choose the same.
//   - None names a region that is leaving or gone, and none moves more at a time than its limit.
//   - While nothing changes each comes to rest: rounds end, and no shard goes back and forth.
//   - Choices that were made and are not carried out yet are part of what a strategy sees.
//
// # Not guaranteed
//
//   - The best distribution: LoadAware is greedy, and no strategy cuts a shard in two.
package allocation
