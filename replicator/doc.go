// Package replicator is the protocol by which the nodes of one role keep the same items. It is a
// pure machine: it has no goroutine, no clock, no socket and no disk. Step takes an input, changes
// the state and names the effects. Deadline says when to step a Tick at the latest.
//
// # Nouns
//
// A [Machine] is one Replicator: one dataset of one role on one node ([keyspace.Dataset]). A node has two
// for each role, which know nothing of each other. It has two spaces, [keyspace.Volatile] and
// [keyspace.Durable]. [settings.Config].DurableKeys and [replica.View].Durable say which keys live
// where ([keyspace.Routes]). Each space is a replica of package crdt, with its own clock, log and
// digest. The spaces are separate because a restart that loses only the volatile half must not
// claim to have seen it. A [replica.Peer] is another member of the installed [replica.View]. It is
// named by its origin, the id of its process incarnation. Quorums count voters whether they
// can be reached or not. Learners are pushed to and never counted.
//
// Two clocks have two names (R7): the content clock goes with the items, the acked clock goes with
// the promises. In the volatile space they are the same. In the durable space the acked clock is
// what the disk has committed. Every answer to a peer or a caller is given from the acked clock
// alone.
//
// # Owners
//
// The Machine is a tree of owners, each with the fields that only it changes. All of them stand on
// the site (package replica): the settings, the time of the step, the roster of members, and the
// effects. A space is a replica (the store, the disk, what the peers are known to hold) and the
// owners of what is under way for it:
//
//   - package exchange: groups that are pushed, applied, acknowledged and fetched;
//   - package write: writes that wait for acks, and updates that are held back;
//   - package read: quorum reads, linearizable ones, and what acks tell;
//   - package settlement: the views that are not settled, and whose quorums count;
//   - package repair and repair.go: what no log has any more.
//
// The Machine also has the owners of what concerns both spaces: the operations in flight (package
// operation), subscriptions, a move, tidying (expiry and folding), the repairs of others, and what
// is in transit. Package settings has the Config, package effect what a step asks of the driver.
//
// # How it works
//
// Push (package exchange): a group of own events goes at once to every reachable peer. While
// PushFlight messages are unacknowledged, groups gather and go together, up to PushWindow bytes.
// What does not fit is fetched from the log later, so that the log is the only queue. The receiver
// applies a group whole, persists it, and acks how much of the sender's origin it has. A group may
// remove something that has not come yet. It then waits for that a moment; after that the receiver
// sends its clock to the sender, and the sender fills the gap in the order of its log.
//
// Large groups (package push, flow.go): a group that is larger than a frame goes in parts, one
// group at a time to each peer. Small groups pass it. It is in flight as long as its parts make
// progress, so that it is not sent to that peer a second time. It holds no updates back. The peers
// share the encoding. GroupMax bounds what waits for one peer, and what comes from one.
//
// Large clocks (flow.go): a clock has an interval for every incarnation that has ever made
// an event, and this package sets no bound on it. A message whose clocks are larger than a frame
// goes in parts like a large group. It goes before the groups that wait, so that it never holds up
// the lane of acks.
//
// Back-pressure (package write): while a peer that answers is [settings.Config].BacklogMax bytes
// behind, updates are held back at every level. A held update has not happened yet: its caller
// waits, or gets [operation.ErrOverloaded] when its time is up. A peer that is unreachable, or has
// not answered for RetryInterval, does not hold updates back. The log bounds what is kept for that
// peer, and a repair helps it later.
//
// Writes (packages write and quorum): a write is done when enough acked clocks contain its last
// event. Own events are consecutive, so one number per peer is enough: the writes of one level form
// a queue, and an ack ends a prefix of it. A write that changed nothing waits likewise until
// everything it found is acknowledged.
//
// Disk (package storage): one batch of the durable space is on its way to the disk at a time. What
// happens meanwhile gathers in the next. Acks are given when a batch is committed. Writes that a
// disk has refused fail when too many disks have.
//
// Reads (package read): a quorum read asks with the hash of the content clock. The answer is
// "same", or the dots that the asker may lack. What is missing is fetched, and the read is answered
// when the own content contains as many answers as the level needs. A read asks as many replicas as
// it needs and a spare one. It asks reachable ones before the others and, with
// [settings.Config].PreferOldest, the oldest first. It asks all of them when those have not
// answered in time. So a responder that dies is replaced by another, which answers with its own
// clock. Reads that begin while others are out share the next round.
//
// Linearizable reads (package read): the reader pins its state of the key and sends its clock, as a
// difference to the clock that it sent before. Each peer that is asked answers with what counts at
// one side only. Each side looks in its log whether its part of that belongs to the key. When a
// quorum holds the same events of the key, the read is answered with the pinned state. Otherwise
// what is missing is fetched, and the question is asked again. After some vain tries the voters
// hold updates of the key back for a few round trips, so that writers do not starve readers.
//
// Lookbacks (package read): the push of an update may ask what else counts where it comes to count.
// The ack answers that. So an update and a read of its key take one round trip when nothing that
// the acks tell is missing here. Otherwise the caller reads for itself.
//
// Views (package settlement, install.go): every message names its sender's epoch, and only acks of
// the own epoch count (R15). After a change of the voters, a quorum means a quorum of every view
// that is not settled. Each member reports its acked clock when it has installed the new view. What
// a majority of each older view reported is the goal. The new view is settled when a majority of it
// contains the goal. This is a lasting fact, so any member that finds it tells the others. Views
// that a member missed come with the reports; until it knows them all, it counts nothing. A view
// that no member of the role knows is not waited for, once all have said so. Voters
// that are permanently gone report no more. Then all that are left must have reported, and
// Settlement.Lost raises the alarm if a majority could have been among the gone. After a cold start
// the disks of each view that was not settled take the place of an older view's voters.
//
// A process that comes to a running cluster is a learner until it contains what a majority told
// when it came. Until then it refuses updates, because their removes would have observed nothing.
// It also does not ack, donate or answer questions (R4, R11). A process whose disk must be heard
// after a cold start is an exception. In the durable space it acks, donates and answers until that
// space is settled, because perhaps no other process has what it knows.
//
// Moves (move.go): a view may name keys that become durable. All members stop changing these keys,
// agree on what they hold, and copy it into the durable space. The copies have the same dots
// everywhere. The view after that changes the routes: from then on reads and writes of these keys
// go to the durable space, and what waited goes with them.
//
// Gossip (gossip.go): now and then a peer is sent the hash of the clock and the digest,
// some 80 bytes for both spaces. If they are equal, nothing follows, and both know what can be
// trimmed. Otherwise both exchange clocks and each fills what the other lacks. A peer whose log
// does not reach back so far says so, and the other begins a repair. Equal clocks with different
// digests should be impossible; if they occur, they are counted and repaired by a union that drops
// nothing. Two items at one dot should be impossible too: all replicas keep the item whose hash is
// lower, and Effects.Diverged tells of it. A repair that does not help is repeated ever more
// rarely.
//
// Repair (package repair, repair.go, donate.go) costs what differs. Both sides pin one moment of
// their store.
//
//   - The dots that only the donor's clock has are found by ranges. The donor gives the items that
//     are alive among them, at once if a frame holds them. Otherwise it names them and the puller
//     asks for them in parts. If they are many, it asks helpers too; this is how an empty joiner is
//     filled.
//   - Of the dots that both clocks have, only those removed on one side differ. They are found by a
//     rateless sketch (crdt/iblt): the donor sends 64 cells, and the puller asks for more until
//     they decode. The store keeps a prefix of the row current, so that no replica walks over the
//     items.
//   - Stores that differ in an eighth and more compare sums of runs of dots instead. The donor
//     names what is alive in the runs that differ.
//
// What this replica would hold of the donor's items must sum to the donor's digest. Only then it is
// taken, in one step and one transaction (R3, R4, R5). If it does not, what helpers brought is
// fetched again from the donor. After that come a sketch with another key, the runs of dots, and
// the whole state. A donor that refuses, leaves, falls silent or makes no sense is replaced, and
// the items that have come are kept. One step walks over a bounded number of items; the machine
// asks to be stepped again at once when there is more to do. Two replicas that ask each other at
// the same time go one after the other.
//
// Tidying (tidy.go, expire.go, fold.go): one replica, the oldest voter, cleans up for all, by
// ordinary events. What belongs to a node (crdt.NodeSet, crdt.NodeMap) is shown as long as the node
// is a member of the installed view. A view without the node hides it at once; the oldest then
// removes it. Beside the marker of a [DeleteForever] nothing is shown, and the oldest removes what
// comes there. A key that [settings.Config].Expire gives a time is removed when no write to it has
// come for so long. Replicas do not decide this by a look at the clock, because every replica has
// another. The oldest decides it, after it has learned what a majority knows of the key. In the
// volatile space, what members that are permanently gone have counted is folded, when all remaining
// members have told that they know it.
//
// Ages (retire.go): a clock has a row for each incarnation that ever made an event, until a view
// says that it is over. One view names incarnations that are over. Each member tells when all members
// have told exactly the events of these that it has itself, in the durable space on disk. When all
// have told so under one view, the next view says that these incarnations are over. Then the members
// close them: their clocks have all the dots of a run of origins in one row (crdt/dots). What lives
// of them stays, and is read, removed, folded and repaired as before. A late event of theirs is one
// that is known already. A disk that was away meanwhile, or a copy of one, may have what no member
// has. It is refused ([effect.Effects].Outdated): the node must start from empty. Package
// membership/retiring says when views name such incarnations.
//
// # Rules
//
// The comments of this package name these rules. R1, R2 and R10 stand in package crdt. Each has a
// test that fails without it:
//
//   - R3: rows, clock and digest are one transaction; a batch that failed stays the prefix of the
//     next.
//   - R4: a repair comes from one pinned moment of one donor, is staged, and keeps out what the
//     receiver has removed by then. A replica that has not caught up neither donates nor acks.
//   - R5: equal clocks with different digests are an alarm and are repaired by union; a repair must
//     add up before it is taken, whatever sketches and helpers have said.
//   - R6: counts of removed members fold in the volatile space only. One replica folds, after all
//     members refuse the removed ones and have told what they have of them. A successor folds what
//     its predecessor's folds left: it has heard of each of them from some member, or no member has
//     it.
//   - R7: the content clock is for deduplication and repair; the committed clock alone is for acks,
//     stability and settlement.
//   - R8: only events change items. Node ownership hides in the view, at once. What is hidden is
//     removed only by a replica that has heard of no newer view, because a member that is about to
//     come looks like one that is gone.
//   - R9: a group is applied, persisted and shipped whole; one that is larger than a frame is cut
//     in transit (flow.go).
//   - R11: a learner refuses updates.
//   - R12: clocks travel as hashes and differences on every read; whole only when something is
//     wrong.
//   - R13: a majority of an old view that is permanently gone is an alarm, not a standstill.
//   - R14: after a cold start the durable space is settled only when a majority of the disks of
//     each view that was not settled has reported. Where fewer are there, all of them must have
//     reported, and the alarm of R13 is raised.
//   - R15: acks count in their own epoch only; a member that has reported for an epoch acks nothing
//     older.
//   - R16: origins are closed when all members of one view have told the same events of them, and
//     only by members that have; a disk that holds some of these events and has not closed them is
//     never merged.
//
// # Guarantees
//
//   - A write acknowledged at Majority is contained in every read at Majority that begins later.
//     This holds whatever the network does and whichever views follow, as long as a majority of
//     every view that is not settled lives (durable space: has its disks).
//   - Reads at Linearizable are ordered as their states of the key are. No such read that begins
//     after another has ended is before it in that order. Together with writes at Majority or
//     above, the operations on one key are linearizable: a read of the key sees exactly the writes
//     that come before it in one order of all. In this order each operation stands at a moment
//     between its beginning and its end. An operation that timed out may do so at any later moment,
//     or never. This holds in both spaces and through any change of views, under the same
//     condition.
//   - Of an update at Majority that was answered with a Reader, and a read at Linearizable of its
//     key, the read sees the update, or the Reader has all that the read saw. The Reader has every
//     write that was acknowledged at Majority before the update began.
//   - A group is applied, persisted and shipped whole.
//   - Keys that become durable keep what was acknowledged of them: when a view says that they are
//     durable, it is on the disk of every member that was in the view before it.
//   - Replicas with equal clocks hold equal items; replicas that can talk come to have equal
//     clocks.
//   - Nothing that a peer sends makes the machine panic; what makes no sense is counted in
//     [effect.Stats] and dropped.
//   - Queues, buffers and what is on its way are bounded; past the bounds callers get
//     [operation.ErrOverloaded] and peers are served from the log.
//
// # Not guaranteed
//
//   - A disk that has lost what it acknowledged, because it lied or was emptied, is no witness of
//     that any more. While other members run, nothing is lost by one such disk. If all members have
//     stopped, it answers as one that never had those writes: reads may miss a write that half of
//     the other disks do not have, until a disk that has the write brings it back.
//   - A write that failed with [operation.ErrTimeout] or [operation.ErrStoreFailure] is not rolled
//     back: it lives here and still spreads. A [operation.TimeoutError] says how far it came and
//     which replicas are missing.
//   - Reads at other levels are not linearizable. Two reads at Majority may each see one of two
//     writes that are under way. A later read, at another node, may miss a write under way that an
//     earlier one saw.
//   - A write above Local is acknowledged after the earlier writes of its node, because an ack
//     names the last of them that has come without a gap. Behind a large group of the same node it
//     waits for that group, however small it is. Writes of other nodes do not wait. Two peers may
//     both send a large group of a third to a peer that lacks it.
//   - Not every step is short. A repair is fetched and compared in bounded steps, but what it has
//     brought is taken in one. Items without their clock, or a clock without all of its items,
//     would tell others of removals that never were. The step lasts some 3 µs for each item that
//     comes and less for one that goes, seconds for a million (BenchmarkFlip). Meanwhile the
//     replica answers no peer and no caller, and quorums go on with the others.
//   - Nothing is promised about several keys together, or about what an update's function reads,
//     which is the state of its own replica.
//   - While keys become durable no update of them is made, at no level, until every member has done
//     its part or is removed. Linearizable reads and writes of other durable keys wait while the
//     copies are written. The step that copies the items takes longer the more there are. The step
//     that changes the routes takes longer the more subscriptions there are.
//   - A level above what the view can give is refused before anything happens
//     ([operation.ErrNotEnoughReplicas]); the reference keeps and spreads such a write.
//   - Nothing is promised of To(n) across a change of views beyond the n replicas that acknowledged
//     it.
//   - When all nodes of a role are gone while other roles keep the cluster alive, the next node of
//     the role starts with what its own disk holds ([effect.Settlement].Lost). What only the others
//     had acknowledged is missing until they return.
//   - What belongs to a node is shown by the view that is installed. A node with an older view
//     shows what others hide already, and does not yet show what a joiner has put. A process that
//     starts again has put nothing.
//   - A key is kept from expiring by writes that its oldest voter or a majority knows. Reads leave
//     no trace. If a node writes to a key while the key expires, what that node wrote is left.
//   - A member that is permanently gone costs a row of the clock (some ten bytes, for the whole
//     space) until a view says that it is over, which waits for members that do not answer. It costs
//     at most two items per counter. In three cases it costs one item per
//     member that counted: in the durable space, while some member does not answer, and in counters
//     within a crdt.ORMap, whose paths do not tell where a key of the map ends.
//   - Events that no member knew when their origin was closed are lost, also if a disk has them. A
//     member that stops after the view has come and before it has closed the origins on disk is
//     outdated, although it has what the others have. A cluster that is founded anew refuses no
//     disk: there, which disks count is the matter of package membership.
//   - A repair that compares runs of dots has what lives of closed origins named without a
//     comparison. A sketch finds no dot of a closed origin above those that live at the puller.
//   - Two types used at one key at the same time live side by side: kinds have disjoint paths, so
//     that nothing is lost. A caller that reads or updates the key gets crdt.ErrTypeClash until it
//     has been deleted.
package replicator
