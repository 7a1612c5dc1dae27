// Package replicator is the protocol by which the nodes of one role keep the same items, as a pure machine: it has no goroutine, no clock, no
// socket and no disk. Step takes an input, changes the state and names the effects; Deadline says when to step a Tick at the latest.
//
// # Nouns
//
// A [Machine] is one Replicator: one role on one node. It has two spaces, [Volatile] and [Durable]; [Config].DurableKeys says which keys live where.
// Each space is a replica of package crdt, with its own clock, log and digest, because a restart that loses only the volatile half must not claim
// to have seen it. A [Peer] is another member of the installed [View]; it is named by its origin, the random id of its process incarnation.
// Voters are counted by quorums whether they can be reached or not; learners are pushed to and never counted.
//
// Two clocks with two names (R7): the content clock goes with the items, the acked clock goes with the promises. In the volatile space they are
// the same. In the durable space the acked clock is what the disk has committed, and an answer to anybody is given from it alone.
//
// # How it works
//
// Push (push.go, apply.go): a group of own events goes at once to every reachable peer. While PushFlight messages are unacknowledged, groups gather
// and go together, up to PushWindow bytes; what does not fit is fetched from the log later, so that the log is the only queue. The receiver applies
// a group whole, persists it, and acks how much of the sender's origin it has. A group that removes what has not come yet waits for it
// a moment; then its sender is told the clock here, and fills the gap in the order of its log.
//
// Large groups (flow.go): a group that is larger than a frame goes in parts, one group at a time to each peer, and small ones pass it. It is in
// flight as long as the parts get on, so that it is not sent to that peer a second time; it holds no updates back. The encoding is shared by the
// peers; GroupMax bounds what waits for one peer, and what comes from one.
//
// Large clocks (flow_clocks.go): a clock has an interval for every incarnation that has ever made
// an event, and no bound here. A message whose clocks are larger than a frame goes in parts like a
// large group, before those that wait, so that it never holds up the lane of acks.
//
// Back-pressure (hold.go): while a peer who answers is [Config].BacklogMax bytes behind, updates are held back at every level: they have not
// happened yet, and their callers wait, or get [ErrOverloaded] when their time is up. A peer who is unreachable, or has not answered for
// RetryInterval, holds up nobody: the log bounds what is kept for him, and repair helps him.
//
// Writes (write.go, quorum.go): a write is done when enough acked clocks contain its last event. Own events are consecutive, so that per peer one
// number says it all: the writes of one level form a queue of which an ack ends a prefix. A write that changed nothing waits until
// everything it found is acknowledged likewise.
//
// Disk (disk.go): one batch of the durable space is on its way to the disk at a time, and what happens meanwhile gathers in the next. A batch that
// failed is tried again, with what has gathered. WriteBehind spaces the batches out; it delays acks and never gives one early. A batch that is larger
// than one transaction should be, after a repair or when the disk has failed for long, is written in parts, each of which says which rows count, so
// that a crash between two leaves the state before the batch or the one after it (disk_parts.go).
//
// Reads (read.go): a quorum read asks with the hash of the content clock; the answer is "same", or those dots that the asker may lack. What is
// missing is fetched, and the read is answered when the own content contains as many answers as the level needs. As many are asked as are
// needed and a spare one, the reachable before the others, with [Config].PreferOldest the oldest before the younger; all, when those
// have not answered in time. A responder that dies is so replaced by another, with his own clock. Reads that begin while others are
// out share the next round.
//
// Linearizable reads (compare.go): the reader pins its state of the key and tells its clock, as a difference to what it told before; each asked
// one tells what counts at one side only. Each side looks in its log whether its part of that is of the key. When a quorum holds the same
// events of the key, the read is answered with the pinned state; else what is missing is fetched, and the question is asked again. After some
// vain tries the voters hold updates of the key back for a few round trips, so that writers do not starve readers.
//
// Views (settle.go, install.go, learn.go): every message names its sender's epoch, and only acks of the own epoch count (V7). After a change of the
// voters, a quorum is one of every view that is not settled. Each member reports its acked clock when it has installed the new view; what
// a majority of each older view reported is the goal; the new view is settled when a majority of it contains the goal. This is a lasting
// fact, so whoever finds it tells it. Views that a member missed come with the reports; until it knows them all, it counts nothing. Voters
// who are gone for good report no more: then all that are left must have, and Settlement.Lost raises the alarm if a majority could have lived
// among the gone. After a cold start the disks of each view that was not settled take the place of an older view's voters.
//
// A process that comes to a running cluster is a learner until it contains what a majority told when it came. Until then it refuses updates, whose
// removes would have observed nothing, and neither acks, donates nor answers questions (R4, R11). One whose disk has to be heard after a
// cold start does so in the durable space, until that is settled: it may be the only one who has what it knows.
//
// Gossip (gossip.go): now and then a peer is told the hash of the clock and the digest, some 80 bytes for both spaces. Equal: nothing follows, and
// both know what can be trimmed. Otherwise clocks are exchanged and each fills what the other lacks; or, if its log does not reach back so
// far, says so, and the other begins a repair. Equal clocks with different digests cannot be; if they are, they are counted and repaired by a
// union that drops nothing. Of two items at one dot, which cannot be either, all keep the one whose hash is lower, and Effects.Diverged tells of it.
// A repair that does not help is repeated ever more rarely.
//
// Repair (pull.go, donate.go) costs what differs. Both sides pin one moment of their store. The dots that only the donor's clock has are found by
// ranges; he gives the items that are alive among them, at once if a frame holds them, else he names them and they are asked for in parts, from
// helpers too when they are many, which is how an empty joiner is filled (pull_fetch.go). Of the dots that both clocks have, only those removed on
// one side differ. They are found by a rateless sketch (crdt/iblt, pull_sketch.go): the donor sends 64 cells, more are asked for until they decode,
// and a prefix of the row is kept current by the store, so that nobody walks over the items. Stores that differ in an eighth and more
// compare sums of runs of dots instead, and the donor names what is alive in those that differ (pull_ranges.go). What this replica would hold of the
// donor's items must sum to his digest (pull_flip.go); only then it is taken, in one step and one transaction (R3, R4, R5). If it does not, what
// helpers brought is fetched again from the donor, then come a sketch with another key, the runs of dots, the whole state. A donor that refuses,
// leaves, falls silent or makes no sense is replaced, and the items that have come are kept. One step walks over a bounded number of items;
// the machine asks to be stepped again at once when there is more to do. Two that ask each other at the same time go one after the other.
//
// Tidying (tidy.go, expire.go, fold.go): one replica, the oldest voter, cleans up for all, by ordinary events. What belongs to a node (crdt.NodeSet,
// crdt.NodeMap) is shown as long as it is a member of the installed view, and hidden at once by a view without it; the oldest then removes it. Beside
// the marker of a [DeleteForever] nothing is shown, and the oldest removes what comes there. A key that [Config].Expire gives a time is removed when
// nobody has written to it for so long: not by a look at the clock, of which every replica has another, but by the oldest, after he has learnt what a
// majority knows of the key. What members who are gone for good have counted is folded, in the volatile space, when all who are left have told that
// they know it.
//
// # Rules
//
// The comments of this package name these rules, each of which has a test that fails without it:
//
//   - R3: rows, clock and digest are one transaction; a batch that failed stays the prefix of the next.
//   - R4: a repair comes from one pinned moment of one donor, is staged, and keeps out what the receiver has removed by then. Who has not caught
//     up neither donates nor acks.
//   - R5: equal clocks with different digests are an alarm and are repaired by union; a repair must add up before it is taken, whatever sketches
//     and helpers have said.
//   - R6: counts of removed members fold in the volatile space only; one folds, after all members refuse the removed ones and have told what they
//     have of them; a successor folds what his predecessor's folds left, of which he has heard from somebody, or nobody has.
//   - R7: the content clock is for deduplication and repair; the committed clock alone is for acks, stability and settlement.
//   - R8: only events change items. Node ownership hides in the view, at once; what is hidden is removed only by one who has heard of no newer view,
//     because a member who is about to come looks like one who is gone.
//   - R9: a group is applied, persisted and shipped whole; one that is larger than a frame is cut in transit (flow.go).
//   - R11: a learner refuses updates.
//   - R12: clocks travel as hashes and differences on every read; whole only when something is wrong.
//   - V4: a majority of an old view that is gone for good is an alarm, not a standstill.
//   - V5: after a cold start the durable space is settled only when a majority of the disks of each view that was not settled has reported; where
//     fewer are there, when all of them have, with the alarm of V4.
//   - V7: acks count in their own epoch only; who has reported for an epoch acks nothing older.
//
// # Guarantees
//
//   - A write acknowledged at Majority is contained in every read at Majority that begins later, whatever the network does and whichever views
//     follow, as long as a majority of every view that is not settled lives (durable space: has its disks).
//   - Reads at Linearizable are ordered as their states of the key are, and none that begins after another has ended is before it. Together with
//     writes at Majority or above, the operations on one key are linearizable (a read of it sees exactly the writes that come before it in one order
//     of all, in which each stands at a moment between its beginning and its end; one that timed out may do so at any later moment, or never).
//     This holds in both spaces and through any change of views, under the same condition.
//   - A group is applied, persisted and shipped whole.
//   - Replicas with equal clocks hold equal items; replicas that can talk come to have equal clocks.
//   - Nothing that a peer sends makes the machine panic; what makes no sense is counted in [Stats] and dropped.
//   - Queues, buffers and what is on its way are bounded; past the bounds callers get [ErrOverloaded] and peers are served from the log.
//
// # Not guaranteed
//
//   - A write that failed with [ErrTimeout] or [ErrStoreFailure] is not rolled back: it lives here and still spreads. A [TimeoutError] says how far
//     it came and who is missing.
//   - Linearizability of reads at other levels: two at Majority may each see one of two writes that are under way, and a later one, at another
//     node, may miss a write under way that an earlier one saw.
//   - A write above Local is acknowledged after those that its node has made before it, because an ack names the last of them that has come without a
//     gap: behind a large group of the same node it waits for that group, however small it is. Those of other nodes do not. Two peers may both send a
//     large group of a third to one who lacks it.
//   - That every step is short: a repair is fetched and compared in bounded steps, but what it has brought is taken in one, because items without
//     their clock, or a clock without all of its items, would tell others of removals that never were. It lasts some 3 µs for each item that comes
//     and less for one that goes, seconds for a million (BenchmarkFlip); the replica answers nobody meanwhile, and quorums go on with the others.
//   - Anything about several keys together, or about what an update's function reads, which is the state of its own replica.
//   - A level above what the view can give is refused before anything happens ([ErrNotEnoughReplicas]); the reference keeps and spreads such a write.
//   - Nothing is promised of To(n) across a change of views beyond the n replicas that acknowledged it.
//   - When all nodes of a role are gone while other roles keep the cluster alive, the next node of the role starts with what its own disk holds
//     ([Settlement].Lost); what only the others had acknowledged is missing until they return.
//   - What belongs to a node is shown by the view that is installed: who has an older one shows what others hide already, and does not yet show what
//     a joiner has put. A process that starts again has put nothing.
//   - A key is kept from expiring by writes that its oldest voter or a majority knows. Reads leave no trace. Of a key that expires while somebody
//     writes to it, what he wrote is left.
//   - A member who is gone for good goes on costing an interval of the clock (some ten bytes, for the whole space) and at most two items per counter;
//     in the durable space, while a member does not answer, and in counters within a crdt.ORMap, whose paths do not tell where a key of the map
//     ends, one item per member that counted.
//   - Two types used at one key at the same time live side by side: kinds have disjoint paths, so that nothing is lost, and whoever reads or
//     updates the key gets crdt.ErrTypeClash until it has been deleted.
package replicator
