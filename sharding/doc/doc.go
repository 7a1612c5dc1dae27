// Package doc holds the guides of package sharding and of the packages below it. Each guide is a page of
// Markdown in this folder, and its code is that of a test here:
//
//   - entities: define entities, talk to them, and decide what happens when they fail.
//   - persistence: keep the state of entities; reminders.
//   - passivation: how many entities stay in memory.
//   - rebalancing: which node has which shard; moves, roll-outs, and settings that change.
//   - testing: tests of one entity, of a cluster in one process, and of a simulated one.
//   - from-akka, from-orleans, from-protoactor: the names of other libraries, and what stands for them.
package doc
