// Package sim runs whole clusters of the real machines in virtual time, each from one seed.
//
// A world is made of slots, machines with an address and a disk; on each runs at most one process,
// an incarnation with the real Membership, Replicator and sharding in it: machines, drivers (package
// ddata/drivers), and of sharding all that StartAt starts, which are the control planes, routes,
// buffers, mailboxes, workers, questions and leases. The package plays the network, the disks, the
// store of leases and the users. It owns the only clock and the only queue of events, so that a seed
// has one story, told again whenever it is run. Messages travel encoded. What waits in sharding is a
// coroutine (package proptest/routine); worlds of different seeds run side by side.
//
// Each seed draws its options (package options), a swarm: some kinds of harm are off in most seeds,
// others frequent, so that rare combinations come up often.
//
//   - handlers of entities take time, and in some worlds fail, panic, hang until their context ends,
//     or answer later than they return (entity.go); clients tell and ask (load_shard.go);
//   - the Data lanes have little room in some worlds, so that senders wait and buffers fill; they
//     lose nothing between the living, as package transport promises (network/stripe.go);
//   - the network loses, repeats, reorders and delays on the control lane, with stragglers of
//     seconds; the data lanes are FIFO until their connection breaks; cuts are total, partial or
//     one-way;
//   - disks forget what was not committed, or have committed some of it when a process ends; they
//     are slow, stall, fail commits, all of them or those to one table, and are full for a while:
//     then not even the membership's record is written; at a start some cannot be read for a while.
//     In some worlds one disk lies: when its power is cut, its rows go back to an earlier moment
//     (the membership's record does not). It may also tear the batch that it writes then. A start
//     must refuse that, and an operator empties the disk;
//   - in some worlds nodes start their entity types late, seconds after they have joined;
//   - views lag: in two of three worlds what was committed comes late on single links, and so do
//     the data lanes and what sharding says (lag.go); in a sixth of the worlds of plain chaos that
//     is the scenario, under a load whose order is judged;
//   - links flap: some ways come and go in rapid turns, for up to half a minute;
//   - each node has two replicators for each of its roles, as a running one: clients write to the users'
//     data, and sharding to the reserved data;
//   - in a quarter of the worlds of some scenarios not all nodes have one role (roles.go): some have
//     the role "backend", some "edge", some both, each with keys and entity types of its own; some
//     have neither, and carry no data. There the oldest node, which proposes views, often is no
//     coordinator, and the voters that decide often know nothing of a role's data;
//   - processes crash, come back as new incarnations on the same disk, stand still as after
//     SIGSTOP, are suspended; nodes join and leave, an operator downs some;
//   - homes are chosen by every strategy of package allocation, with loads that the regions measure
//     and locations that a client keeps changing, at once or beside the coordinator, by a strategy
//     that is slow and misbehaves (strategy.go);
//   - the active entities of a node may have a limit, which an operator keeps changing, and every
//     order in which they are passivated;
//   - the store in which shards and coordinators take leases (package leases) is slow, fails, keeps
//     some nodes out, is down, and gives leases to somebody outside; its sessions run out, or holds
//     last as long as their process;
//   - the membership's record alone cannot be written for up to 20 s;
//   - clocks differ in rate by almost as much as Epsilon allows, in half of those worlds each by that
//     much, and in wall time by any amount, which jumps;
//   - processes stop between two effects of one step, and carry out the rest when they go on (halt.go),
//     except what sharding has to do;
//   - wall clocks jump while a process is suspended and when it has woken up. Not played: a suspend of
//     less than a second whose wall clock then goes back, which neither clock shows;
//   - leases are introduced by rolling restarts, and taken away by others (package rollout);
//   - all nodes are restarted in turn, with and without a delay before the balance is looked at,
//     and the whole cluster is shut down in order and started again (script_restart.go);
//   - all nodes are stopped at once, in order, and started again (script_stops.go);
//   - entity types are closed on nodes that stay, and started there again (script_close.go);
//   - scenarios (package options) script what chance finds too rarely; those of views, votes and leases
//     are package worstcase. One of them, outside of the swarm, is the insert test of the reference
//     (script_inserts.go): five nodes, four phases of unique inserts, connected and split three to
//     two, at Local and at Majority.
//
// Which swarm that is, the Plan says. The usual one draws from all there is. The plan "cluster"
// (options/cluster.go) draws worlds that are about the cluster: 3, 5, 7 and, in a tenth of the seeds,
// 20 members, up to 8 more slots for joins, every strategy, VotersMax, three sets of time-outs
// (usual ones; the most hostile that Config.Validate lets pass; and reckless ones beyond, with no
// StableAfter and leases of ten seconds), every kind of fault, joins and leaves in all of them,
// the worst cases of a growing view with 3 and 4 nodes, and restarts and shutdowns of all; and so
// little load that a world takes a fifth of the time of a usual one. All checkers stay on. The plan
// "persist" (options/persisted.go) draws small worlds in which entities keep their state, in a store
// that misbehaves in every way (packages persisted and journals), while processes crash, stand still
// and take over from each other. In half of them, homes of shards and remembered ids lie in a journal
// that misbehaves, too (options/ledger.go, package ledgers). The plan "remind" (options/reminded.go) draws
// worlds as small in which entities set reminders, take them away and fail to handle them, over a store
// that misbehaves (package reminded). The plan "deliver" (options/delivered.go) draws such worlds in which
// producers, half of them with a queue that fails, deliver to entities (package delivered).
//
// After a safety phase the world is healed, and must then get well in bounded virtual time.
//
// Checkers stand outside. They see what clients were told and what instants look like, and do not
// use the logic that they check:
//
//   - acting: at no instant may two processes coordinate for a role, or propose views (oldest in their
//     view, under their lease, running);
//   - views: one view per epoch, an unbroken chain, statuses that only move forward, no return of a
//     removed member; a format level that never falls, that each member's build speaks, and that is in
//     the end as high as all speak. In a third of the worlds of plain chaos and its like, processes
//     are of three builds, and an operator replaces those that are refused;
//   - data: no read of a majority misses an acknowledged write, none is missing in the end. What a
//     writer is told that a majority has, a majority of the voters of its view has, by their own
//     word. A lost write is excused by what became of its own witnesses, and of no other write's
//     (excuse.go): processes that crashed, in the volatile space; in the durable one members that
//     the others dropped, disks that were not there when the cluster was founded anew, and disks
//     that lied or were emptied; in both the last full member of a role, when it leaves. Counts has the
//     excuses by reason. When all have stopped, disks come back, and until enough of them have, no
//     process may go on;
//   - caught up: a joiner that says so has all that a majority had acknowledged before it installed
//     its first view;
//   - whole groups: of what one update has added to a set, a read sees all or nothing, except what
//     some process has removed;
//   - linearizable reads: what one saw, every one that begins later sees; of two that overlap, one
//     sees all that the other does; what one missed after another had seen it does not come back;
//   - owned (crdt.NodeSet, crdt.NodeMap): no process shows what belongs to a node that is not in
//     its view. Of a node that is in the newest view, nothing is missing that a read must find; in
//     the end nothing at all is missing that the node was told is written. A process with an older
//     view may miss what a newer one has dropped, or show it;
//   - expiry: a key is not missing before its time has passed, by the fastest clock, since the last
//     write that a majority had acknowledged two seconds before: what the oldest has heard of a
//     majority may be so old when it removes the key. A write during these two seconds keeps what
//     it wrote, and not the rest of the key. In the end every key is gone that was left alone for
//     so long;
//   - permanently deleted: a process that was told so once finds and writes nothing there again,
//     nor does a read of a majority after a majority has the deletion. No process is told so of a
//     key that was never deleted. Writes acknowledged before are excused. A deletion is lost as a
//     write is, with a majority;
//   - tidy: the healed world gets rid of what belonged to nodes that are gone, and of all except
//     the marker in a permanently deleted key. The checker of data sees that folding changes no
//     sum. No checker looks at how long tidying up takes while the world is ill;
//   - equal: equal clocks hold equal digests hold equal items, in whatever order they came;
//   - entities: none runs twice at one instant; a planned hand-off loses nothing;
//   - order (package sequence): in every world an entity handles what one sender has told it in the
//     order in which it was told. A death of a home, a lost lease, a move of a shard that waits for
//     its lease and a close by force excuse what was under way then, and nothing else does;
//   - moves: while members come and go within the delay, shards move away only from nodes that
//     leave. While the cluster is being shut down, no shard moves, and none starts that was at home
//     somewhere. A round stays within the budget of the strategy, and the healed world comes to the
//     balance that it promises: even numbers, bounded ones, or every shard where it is wanted. What
//     was remembered then runs again with the cluster, though nothing is sent to it;
//   - stops of all nodes at once: each ends soon after all have stopped, none as one that was
//     downed, and all come back;
//   - limits: a shard keeps no more entities than its part of the limit, and in the healed world
//     has no more. What waits for one that is passivated is handled, once, and in a calm world in
//     order;
//   - rest: an entity is passivated as idle only after as long without a message, and no later than
//     the settings say; after its Stop it handles nothing. In worlds whose order is judged, what was
//     passivated and forgotten starts only when it is told something, and a shard that was stopped for
//     good lives nowhere until something is sent to it. In the healed world what is remembered runs,
//     and nothing else of its type, and every route leads home;
//   - bounds: after every event, what waits in buffers and mailboxes keeps to Limits, in messages and
//     in bytes. A question has one answer;
//   - state that is kept (package judge): an entity has one history, a command stands in it once, nothing
//     is stored for a hosting after a later one of its shard has begun, and a client is told of nothing
//     that is not stored. In the healed world each entity answers each process, from what was stored;
//   - homes in a journal (package ledgers): nothing is appended for a coordinator after a later one has
//     read, which reads all that was written; homes are written before any node is told of them;
//   - deliveries (package delivered): handlers are given all that a producer has sent, in order, and once
//     within an incarnation. What is confirmed was handled, and in the healed world all is confirmed that
//     a producer which lives, or has come back with its queue, holds;
//   - leases of an outside store: no handler starts, and no coordinator acts, but while that store
//     has the lease as theirs;
//   - no stall: after the last fault, or the last act of an operator, each kind of wait (for a view,
//     a lease, an operation, equal replicas, homes of shards, messages, entities that recover) ends
//     within the longest that the settings of the world allow (stall.go). Tidying and balance have the
//     whole time;
//   - liveness: the healed world agrees on one view of all that run, somebody coordinates,
//     everybody reads and writes, all stores are equal, every shard with traffic has a home, every
//     buffered message was delivered or reported.
//
// The machines' own Check runs after each of their steps.
//
// That the checkers are awake is proved by planted defects (package planted): errors that the
// machines can be told to have, each of which must be caught within a number of seeds, of those
// drawn or of a scenario of its own. A few harm only what no world of correct machines comes to;
// they are listed apart, with the tests that catch them.
//
// Not played: a node without any role, for package ddata gives each node one; several roles in the
// scenarios that are about all nodes (restarts in turn, shutdowns, leases, tidying).
//
// Nor is one lane of one link slower than the others: what lags are views, what sharding says, and
// both FIFO lanes of a link together.
//
// What a simulation cannot see: races between goroutines (the drivers have their own tests), the
// real sockets and disks, and what no seed that was run happened to do.
package sim
