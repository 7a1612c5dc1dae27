// Package rehash moves reminders to the shards of their entities, after the number of shards or the function
// of shards has changed while all nodes of a type were stopped.
//
// # Nouns
//
//   - A [Layout] is what says to which shard an id belongs: the number of shards, and the function's name.
//   - The record says by which layout the reminders of a store lie. It is a reminder itself, of a shard
//     beyond all others, so each [remind.Store] can keep it.
//   - A [Gate] stands before the store of a node: no call of a shard passes before the record says that the
//     reminders lie by the node's layout.
//   - A [Mover] moves them, on the node whose coordinator acts. It also writes the first record.
//
// # A move
//
//	record      "by 100 shards"
//	  │ first it says that a move is under way, and how many shards may have reminders
//	record      "under way, 200 shards"
//	  │ each reminder that belongs elsewhere is put there, and then taken away
//	record      "by 200 shards"
//	  │ the gates open
//
// A mover that ends early is followed by another, which begins again: it finds what is left. A reminder is in
// the shard that it comes from until it is in the one that it goes to, and keeps its version, so that to put it
// there twice changes nothing. It is put where there is none of its name, or one with a lower version. If the
// layout has changed once more meanwhile, the reminders lie by two layouts, and the record says so.
//
// Nodes host shards while reminders are being moved, and keep them when the coordinator changes. So all movers of
// a move call the store by one token, which is below those of these hostings: a higher one would fence what they
// call when the gates have opened. The numbers of updates have the round in front, so that of two movers the later
// one stands.
//
// A run that fails, because the record is damaged or a later hosting has called a shard, is told of and begun again
// after a pause.
//
// The record is written from format.Headers on: nodes of builds before do not know of it. As long as such nodes are in
// the cluster, reminders lie by the layout of all nodes.
//
// # Guarantees
//
//   - An entity sees all its reminders or none: its calls wait, and fail if that takes too long.
//   - Of two reminders of one entity and name in different shards the one with the higher version stands: an old copy
//     that was left in a shard does not replace what the entity has set since. If it has cancelled that, the copy
//     comes.
//   - What a shard of another layout, or a mover of a coordinator that was deposed, has yet to write has no effect,
//     if the store looks at tokens.
//
// # Not guaranteed
//
//   - A store without a record is taken to lie by the layout of the first node that uses it. If Shards or ShardOf was
//     changed together with a build that kept no record, reminders stay where they are. An event names each that is
//     due in another shard than its entity's, and the shards beyond the layout that have some. To go back to the
//     former layout and then to the new one moves them.
//   - In a store that does not look at tokens, such as that of package replicated, a mover of a coordinator that was
//     deposed may write late, from the disk of a node that comes back. What it puts stands over the end of a reminder
//     that was made without it in sight: a reminder that was cancelled since, or has come, is there again, and comes.
//     Its record may stand over the settled one: then the coordinator that acts moves once more, and nodes that start
//     meanwhile wait.
//   - A damaged reminder cannot be moved: it stays where it is, and an event names it.
//
// The package carries no promise of compatibility: users see it through package sharding.
package rehash
