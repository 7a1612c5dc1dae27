// Package membership decides which nodes are in the cluster, which one is oldest and which may run.
// It is a pure machine: no goroutine, clock, lock or socket. A driver steps it with inputs and
// carries out its effects.
//
// # Nouns
//
// A Member is one incarnation of a node, named by a UID that is never used again. A View
// lists the members of one Epoch. Views form a chain: each is one decision of the voters of the
// view before. The voters are the members that are Up or Leaving. There are at most VotersMax,
// the oldest, and leaving members come last. Unreachable voters count until a view drops them. A
// Joining member is a learner: it is listed and replicates, but does not vote and runs nothing. The
// oldest member of a role is the one that became Up first; singletons run there. A Lease is the
// permission to run anything at all.
//
//	Probe ─► founding: all BootstrapExpect nodes lock themselves to one view ─┐
//	     └─► joining: a member proposes a view with the joiner as a learner   │
//	                                                                          ▼
//	 Heartbeat ─► Grant: the lease       view e ──Prepare, Accept, Commit──► view e+1 …
//
// # The packages below
//
// The Machine has a life before its first view, in which it looks for a cluster (seeking.go), and
// one as a member (member.go). The member sorts out inputs and messages, and calls the owners of
// its state: cluster has the view and what the members say, pulse the heartbeats, strays what
// belongs to other epochs, gate the joiners, ballots the votes, leasing the lease, storing the
// record, ending the end. A step has the time and the effects. What an owner or a package has, it
// alone writes:
//
//   - view: members, views and what follows from an installed one.
//   - report: what this node and the other members say of themselves. downing: which of them are
//     heard, what operators have said, and which side of a partition goes on.
//   - joiners: the nodes that ask to be let in. bootstrap: looking for a cluster.
//   - nextview: composes the next view. voting: promises, accepts and proposes it, by the ballots
//     of paxos. arbitration: carries the vote of an arbiter.
//   - nodelease: grants and promises. parting: the end of a node. record: what the disk keeps.
//   - message: what machines say to each other. singleton: what runs on the oldest.
//
// # How it decides
//
// The view after e is one single-decree Paxos decision whose acceptors are the voters of e; a
// quorum is what the Strategy says, and any two intersect. The oldest reachable voter proposes. Its
// candidate takes everything that is due into one decision: members that have been unreachable for
// StableAfter, that an operator downed, that have left, or whose address or disk a new incarnation
// has; joiners; learners that have caught up. Acceptors live in memory: a restarted process has
// another uid and is no acceptor any more.
//
// Heartbeats go to all members each interval, over links of our own. Each is answered with a grant,
// if the sender's epoch is the receiver's. What memberlist believes comes in as a Hint; it can
// shorten suspicion or name a seed and changes nothing else.
//
// # The end of a process
//
// A process that is killed leaves more than silence: its connections end, and its machine, which
// still answers, refuses others. That is evidence and no proof. A firewall can say the same of a
// process that runs. So it shortens only waits that are about availability, and no promise:
//
//  1. A member that had answered a connection, and whose address then refuses one (Dialled), is
//     unreachable at once, and not after UnreachableAfter. A message or a connection takes that back.
//     After such a message a refusal counts only with two heartbeats of silence, until there is a
//     connection again: a wrong sign costs one false alarm.
//  2. A node that finds members ended so tells the voters, at once and with each heartbeat
//     (message.Crashed). StableAfter is there to let a picture settle. The picture is settled when all
//     voters that are not among the ended find the very same members ended, and hear all others. Then
//     an ended member is due after CrashStableAfter in place of StableAfter, whichever is shorter.
//  3. What is due is proposed, and decided as any removal: G1 to G4 hold as they are. The acceptors
//     wait for their promises to the member, so its lease has run out on its own clock (G4). That is
//     the bound: a crash is decided within L(1+ε) of the member's last heartbeat.
//
// What does not give all of these signs waits for UnreachableAfter and StableAfter: a machine that is
// gone, a partition that swallows packets, a connection that is reset and then not refused, a voter
// that still hears the member, a second member that is silent, a view below format.Crashes. Nor does
// it make a difference what a node believes that is wrong, be it for all members at once: the rules of
// leases do not ask what is believed.
//
// # Leases
//
// A node holds its lease while a quorum of its view, itself included, has granted within L of when
// the heartbeats were sent. Nothing else is needed to let a successor start at once, given these
// rules:
//
//   - G1: a granter makes a promise: for L(1+ε) on its own clock it accepts no view without the
//     member that it granted.
//   - G2: a node that has accepted a proposal for the next epoch grants nothing until it knows what
//     was decided.
//   - G3: a node that installs a view promises as in G1 to every member of it.
//   - G4: a view without a member is accepted only after the promise to it has run out, or when it
//     has said that it stopped; no node that still runs accepts its own removal.
//   - V1: a node's own vote counts for its own lease only until L after it accepted a proposal.
//   - V2: an acceptor whose promise stands against a proposal stops granting to the members that
//     the proposal drops, for 2L. It does so when it is asked to prepare. So accepting, and with it
//     the freeze of G2, comes when it can succeed.
//   - V3: a node that has said that it stopped does not propose, accepts its own removal, and stays
//     until it sees it. A node that is asked to leave while it is Joining comes up like any other if
//     it has not stopped before: it may have to hand over what its users gave it.
//   - V4: a leaver is dropped when its node has reported its replicators settled in the current
//     view. With one view, less than a majority of a role goes because it leaves; the others settle
//     it, and the next ones go.
//   - V5: what a node locks itself to or accepts is on disk before it says so. It freezes (G2) when
//     it has accepted, not while it writes. What it has installed is on disk before its replicators
//     and singletons hear of it. Other members may hear before: a quorum of the disks of the view
//     before has it as accepted. A cluster is founded anew by a quorum of the disks of the last
//     view, and of every later one that may have been decided. It goes on with the epochs, the era
//     and the cluster id. It also takes half of each set of disks that the last view lists as not
//     settled (see below). Each founder waits for L(1+ε) after the end of its last incarnation,
//     which may have granted, and installed views (G3), until then. It need not wait if that
//     incarnation noted on the disk, as its last act, that every node to which it had granted a
//     lease had stopped. Nor need any founder when all are there: on the disk of each full member of
//     the last view, and of every later one that may have been decided, is a founder, and the
//     incarnation before it has ended for certain (DiskEnded). Then nothing runs under a lease, and
//     no cluster goes on that could be heard (candidates.allEnded of package bootstrap). A member
//     that has no disk, or does not vote, keeps the founders waiting. The driver says since when
//     that incarnation has done nothing (DiskSince): since the driver took the disk, or since an
//     earlier time of which it is certain. Package ddata is certain by a mark that it keeps ahead of
//     each grant. While the driver knows nothing of that, the wait counts from the first step. Among
//     all nodes that are heard, one that has installed the newest view has waited so, founder or not
//     (unwaited). A disk is one witness: no view has two members with one disk. A node that comes
//     with the disk of a running member has a copy, and is refused. With the disk of a member that
//     is not heard, it takes that member's place.
//   - V6: heartbeats go out at once when a view is installed, and to a member when its first one of
//     the epoch comes. A lease of the older epoch may be used up meanwhile: nodes that have not
//     heard of the new view do the same, so everything is safe against it anyhow. A view change
//     does not pause anything.
//   - V7: a joiner comes up only when its node has reported that its replicators have caught up.
//     Founders need not: there is no member from which they could.
//   - V8: what a node runs under its lease, such as a handler of an entity, starts only while the
//     lease holds, and so do its effects. It cannot be killed when the lease ends: its context is
//     cancelled, and its effects are refused.
//
// # The end of a cluster
//
// CloseCluster, said to one machine, makes a view that is Closing; all views after it are Closing
// too. The word is in the chain, so it comes to a member before anything that is decided later,
// such as that another one leaves. No node joins a closing cluster, because restarts during a
// shutdown would keep it alive. A view that founds anew is not closing.
//
// Members that all stop at about the same time do not wait for views without each other. A node
// that has stopped ends when it knows that all others have stopped too, or sees a view without
// itself. It does not take that knowledge with it:
//
//   - A node that knows that all have stopped says that it parts, again and again. It goes on until
//     each of the others has answered, parts itself, or has been silent for one and a half
//     heartbeat intervals. The others take its word: a member that has missed a view says that it has
//     stopped to the members of its own view alone.
//   - A node that has decided a view does not end before those that the view drops have answered
//     it. If it dropped itself, neither before the members that stay have. Until then it alone may
//     know that the view was decided.
//   - No node is let in meanwhile. One that waited to be let in is told, and starts again under a
//     new uid.
//
// Without this, a node whose last message was lost would wait for SelfDownAfter for a node that is
// gone.
//
// # The disk
//
// The record leaves as an effect and its completion returns as an input. Heartbeats, grants and the
// machine's own view do not wait for it. So a disk that is slow puts off what the node accepts, and
// what its replicators hear; it costs no lease, and others decide without it. A node whose write
// fails ends, and so does one whose disk has not answered while 256 views were decided. Its
// replicators are to hear of each of them, so none is left out, and its end is no more than a crash
// to the others.
//
// # Few voters in a large cluster
//
// With VotersMax only so many of the oldest vote, and a Leaving member hands its vote over before
// it goes. If all voters decided their own removal, no member that knows of it would be left. The
// view alone, which carries the cap, determines the voters, so all that have installed it agree.
// Other members heartbeat to the voters and hold leases by their grants. Nothing passes between two
// members that do not vote, except that a hint of memberlist makes one ask the other. The rules
// above hold as they stand, because none compares the voters of two views:
//
//  1. A lease in e is granted by a quorum of voters(e), and e+1 is decided by a quorum of
//     voters(e): they share a voter j.
//  2. If e+1 drops the holder, j has waited for its promise (G4). If not, j granted nothing after
//     it accepted e+1 at t (G2; V1 if j is the holder itself), so what was granted in e ends by
//     t+L.
//  3. Each node that decides e+2 has installed e+1, which was decided after t. It promised every
//     member L(1+ε) then (G3), whether it voted in e or not. So no view that drops the holder comes
//     before t+L; and so on for every later view.
//
// The voters that take the place of others have promised nothing as voters: step 3 alone protects
// from them (TestScripts, "a voter replaced"). After a stop of everything, a quorum of the disks of
// the last voters has to be there, and half of the disks of each set below.
//
// A joiner is let into the next view only when it has heard of this one: its probe says so.
// Otherwise a member that was absent for a while could find an old probe, and bring back a node
// that has been in and gone.
//
// What a view costs grows with the cluster, so one decision takes in all nodes that come together.
// A founder asks the nodes that it heard before. The proposer tells the waiting joiners of each new
// view. It then waits up to a quarter of a heartbeat for joiners that have yet to hear of the view
// and learners that have yet to catch up. A joiner waits for nothing if no other is on the way.
//
// When a removal is near, the oldest waits with a view that would only let a node in, because by G3
// it would put the removal off. Proposals whose proposer died are finished by the others, the
// oldest first, after two heartbeats each.
//
// # Which nodes may found, and when
//
// A node that hears of a cluster joins it or nothing. Otherwise a cluster is founded by exactly
// BootstrapExpect nodes that all hear each other, choose each other (the lowest uids, or the disks
// of the last view) and lock themselves to one view. All of them lock, not a majority, and each to
// one view in its life. The lowest uid proposes; it decides nothing alone.
//
//   - Nodes whose disks remember a cluster found it anew, by V5, and never another.
//   - Nodes that remember none could found a second one beside a cluster that they do not hear. Two
//     foundings take 2·BootstrapExpect incarnations without a memory. So with BootstrapExpect above
//     half of all that are ever started with an empty disk, or with none, there is one cluster,
//     whatever the network and discovery do. A set of pods that keep their disks has that with
//     BootstrapExpect above half of its highest number of replicas. Where each restart forgets, as
//     without Disk, no number stays above half; the next rule applies.
//   - With Config.Discovers (package bootstrap), a node without a memory founds, and signs, only
//     while three things hold. The source of addresses answers. It has named at least
//     BootstrapExpect addresses, the same for StableAfter. A node without a cluster was heard at
//     each of them. So a cluster is not doubled while the source names one of its members, heard or
//     not. A name that has gone stale puts a founding off until the source forgets it. A node that
//     only has Seeds is not held to this: they need not be all.
//
// Pekko's cluster bootstrap asks for the same three (a number of contact points, a stable margin,
// word from each of them) and then lets one node join itself, alone; here all founders have to find
// so, and to lock. It knows nothing like V5.
//
// # An arbiter from outside
//
// With LeaseMajority a lock that only one holder has at a time, the arbiter's lease, gives one more
// vote: with it any voter can decide, without it all of them must. So the side that has the lease
// goes on, and a cluster whose members all answer does not need it. The arbiter is an acceptor and
// a granter as the voters are, but it speaks through the holder of the lease. When the holder
// prepares, it also promises for the arbiter. When it grants, it grants for the arbiter, too. What
// it accepts, the arbiter accepts. These rules are added to the rules above:
//
//   - AR1: the arbiter's promises and what it accepts are saved under the lease before any node
//     hears of them. The holder's own vote does not wait for that.
//   - AR2: a new holder loads the record and is bound by it. What the arbiter accepted, its carrier
//     had accepted in the same ballot, and both are a quorum. So it is decided, and the new holder
//     installs it, even if it drops the new holder. A record of a later epoch than the holder's
//     makes it give the lease back.
//   - AR3: until L(1+ε) after it acquired the lease, a new holder accepts no view that drops a
//     member that has not stopped. By then everything that earlier holders granted in the arbiter's
//     name, to others or to themselves, has run out. Of G2, G3 and V1 nothing more is needed: each
//     holder keeps to them as a voter, and the arbiter does nothing that its carrier does not do.
//   - AR4: the lease is lost on the holder's clock before another can acquire it (package locks).
//     From then on the node speaks for itself only.
//   - AR5: a view that a voter has accepted alone, while it had the lease, may drop those that have the
//     lease later. These refuse it (G4). They leave it out of their ballots, as the quorum of the
//     arbiter and a voter that did not accept it allows.
//
// The oldest reachable voter tries for the lease when it hears no node that has it. A node on a
// side with less than half of the voters waits before it tries. It also gives back the lease if it
// has it: once, so that the larger side takes it if there is one, and not again before
// SelfDownAfter, so that a network that flaps decides at last. A process that is stopped and not
// dead may go on holding a lock, as that of package locks/file does. Then no member can be removed
// until that process ends or runs. A cold start hears no arbiter: it takes all disks of the last
// view. If those are gone, and an operator says so (BootstrapAnyDisks), the founding leaves out
// more epochs than they can have seen. So what the arbiter has on record of them is older. A record
// of another cluster id counts for nothing.
//
// # What a cold start has to hear
//
// Data outlives a stop of everything on the disks of the nodes that acknowledged it, and these may
// be a majority of an older view than the last. So each view lists, role by role, the disks of the
// voters of the earlier views that its proposer did not know to be settled: its parent's list and
// its parent's own, less what a later set repeats. The list is decided with the view. That is why a
// node that joined last, or missed views, knows it as well as all others. For the same reason
// founders need not piece it together: a node that has the last view has the whole list.
//
// Any member with a role says, in Settled and in heartbeats, that the role has settled an epoch.
// This is a lasting fact. It makes history of the sets of the epochs before, once all roles that
// still have a voter have said it. A node puts on disk what it has heard. Founders believe the one
// that has heard most; one that has heard less asks for more than is needed. The founding view's
// list is what they had to hear (View.LastDisks). The replicators settle nothing before they have
// heard it, and until then later views go on listing it, so that stopping again forgets nothing. A
// view that was only accepted adds nothing to the list: no node has acknowledged anything in it.
// Otherwise one of its disks that have to be there would have installed it.
//
// A view lists at most 64 sets, and so many bytes of disks. Above half of that no node becomes a
// voter until something is settled; beyond it, which takes as many removals meanwhile, the oldest
// set is forgotten, and what only its disks know might not be found.
//
// # Which keys are durable
//
// That too the chain of views says, because two nodes that differ about a key would acknowledge
// writes of it in stores that know nothing of each other (moving.go). A founding view lists the
// patterns of all founders. What a joiner brings beyond the list is Moving from the view on that
// lets it in, and Durable from the first view on that is decided when all its members have said
// Moved. While a move runs, a joiner that brings yet other patterns waits. Nothing is taken off the
// list: a founding anew takes it over with what was moving, because disks may hold what was
// acknowledged (ForgetKeys).
//
// # Which formats are written
//
// Members of different builds speak different ranges of format levels (package format). A view lists
// the range of each member, and has the level that all write. A founding view has the highest level
// that all founders speak; founders that do not speak the level of a view that must not be forgotten
// take no part. When all members of the next view speak more, it raises the level. It never falls,
// because:
//
//   - a node whose range does not contain the level of the view is not let in (ReasonFormat);
//   - a range is fixed for the life of a node;
//   - a founding anew has at least the level of the views that disks remember, and a node does not
//     start with a record whose level it does not speak.
//
// Members that a view drops are not asked whether they speak its level. They may not understand what is
// said in it, and end by SelfDownAfter at the latest. A node that a view of another level lists all
// the same, which only a defect can do, ends with format.ErrUnspoken and installs nothing.
//
// # Which incarnations are over
//
// A cluster that is restarted daily for years must not keep something of each incarnation. Views say which
// are over (view.Ages, package retiring): below a bound, except members. Their UIDs rise with time, so one
// bound names almost all. A node whose UID is named is refused, told the bound, and draws another by itself;
// no operator acts. What the replicators of all members have of these incarnations they agree on under one
// view, and the next one says that they have ended. A founding anew takes over what has ended, from the
// newest view that its disks know, accepted ones included, and leaves out disks that have missed it.
//
// # How large a cluster may be
//
// A view has to fit into the record on disk, twice, and into a message (view.Room). So its members
// are bounded by number, 4,096, and by the bytes of their addresses, roles and versions: about
// 2,500 members with addresses and roles of usual length. Patterns of durable keys are at most 256,
// with 16 KiB together. A join that does not fit is refused with ReasonRoom; it is taken when
// members have gone.
//
// # Singletons
//
// Package singleton runs what belongs on the oldest of a role. Its machine stands beside the
// Machine, and is told of views and of the lease. The oldest listed member starts it under its
// lease. The next in age may start before a leaving member is out: when that member, asked for it,
// has said that it is done. The word is final, as a uid that leaves never starts it again. So the
// next by age among the members that have not said it is the only one, whichever view it has
// installed, as long as its lease holds.
//
// Each start has a FencingToken above those of all before it. It begins with the Era, the wall time
// of the cluster's first founding, which every view carries: a cluster that has lost all its
// directories begins with epoch 1 again, and its tokens rise all the same.
//
// # Services
//
// A Service is something of which one member at a time is in charge: sharding has one for each entity
// type. A node says by Offer that it offers one, its heartbeats say so until a view lists it, and the next
// view that is decided puts it at the end of the service's Line. The first of the line is in charge. It
// stays in the line until a view is decided without it, by which its lease is over; so at no instant do
// two nodes hold a lease under which both are in charge, and a member that offers the service later takes
// nothing from another, however old it is. An offer is for the life of a node.
//
// A line has LineMax members, so that views do not grow with the cluster. If all of them go with one view,
// the next one lists others.
//
// # Guarantees
//
// There is one view per epoch, and each member of it speaks its format level. At any instant at most
// one node is the oldest of its installed view, holds its lease and has not stopped. When a view
// without a member is installed anywhere, that member's lease has run out on its own clock, or it had
// said that it stopped. No uid returns. The only exception is a learner that has never heard that it
// was one: it may be listed again when no node that knows is left. UpNumbers order the members alike
// everywhere and the oldest changes only by its going. After a network has healed and while a quorum
// of the last view is alive, all reachable nodes come to one view, and those it lacks end with
// ErrDowned. Nodes that stand still, one or all, do not suffer for it: they give up after time that
// they were awake.
//
// The only assumption on time is that the rates of two clocks differ by less than Epsilon; that a
// later founding has a higher Era assumes wall clocks that do not go back in between. On
// bootstrapping: fewer than twice BootstrapExpect nodes look for a cluster at once whose disks know
// of none.
//
// # What it does not do
//
// It cannot stop a handler that runs; the lease says when its effects are refused. It does not
// survive the loss of a quorum at once: the rest gives up its leases, and ends with ErrDowned. A
// member that hears no other but is heard by the oldest stays listed until it gives up after
// SelfDownAfter. What a frozen hypervisor hides from both clocks, it cannot see. A node without a
// disk is not counted when a cluster is founded anew, and in no set. If all are without, only
// BootstrapExpect protects against a second founding. A disk must keep the record that it has said
// it has: a node that founds alone, and whose disk then forgets it, founds the same epoch again.
//
// Sources: L. Lamport, Paxos Made Simple, 2001; C. Gray and D. Cheriton, Leases, SOSP 1989; the
// vocabulary is Akka's.
package membership
