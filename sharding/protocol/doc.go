// Package protocol is what the three pure machines of cluster sharding share: ids, tokens, messages
// and their form on the wire, inputs, effects, events and settings. The machines decide where
// entities live; each has a package of its own below: coordinator, region, shard. Goroutines,
// sockets, mailboxes and the entities themselves belong to package dataplane. Package control
// drives the machines.
//
// # Nouns
//
//   - A shard is a group of entities that move together. ShardOf says which shard an entity id
//     belongs to.
//   - A Region is the part of an entity type on one node: it knows where messages for each shard
//     go, and hosts shards. On a node without the type's role it is a proxy, which hosts nothing.
//   - The Coordinator, one per type, acts on the member that the view has in charge of the type
//     (view.Line), the first that started it: it gives each shard its home.
//   - A Shard machine is the life of the entities of one hosted shard: remembered, started,
//     passivated, stopped.
//   - The table is the replicated map from shard to home. Its entries carry tokens.
//   - A Token orders all commands that were ever given for a type: the epoch of the view, the up
//     number of the coordinator, its count.
//   - A hand-off moves a shard. Its id is the token of its Begin.
//   - A fence is the last thing that a region puts on the data lane for a shard before it buffers.
//
// # What the table is, and what it is not
//
// The table is a route, not a permission. A region sends messages where the highest token points.
// It hosts a shard only when a coordinator commands it with a token that is not below anything it
// has obeyed. So a late write of a deposed coordinator can misdirect a few messages, which are
// forwarded or buffered, but it can make no region host. The coordinator first writes a home (to a
// majority), then commands the home, and tells all others through the table.
//
// # Hand-off
//
//	coordinator            every region and proxy                     owner
//	    │── Begin(id) ──────────►│ route := moving, then                │ route := draining
//	    │                        │── Fence(id), data lane ─────────────►│ delivers what the lanes bring,
//	    │◄───── BeginAck ────────│                                      │ buffers its own senders
//	    │                                            all fences are in: │ route := moving; drains mailboxes,
//	    │◄───────────────────────────────── ShardsStopped(id) ──────────│ stops entities, waits for writes
//	    │ writes the new home, token above id
//	    │── HostShards ──► new home ── Started ──►│
//	    └─ table: an entry above id releases every buffer to the new home
//
// Each phase has its own time limit. When one passes, the owner's entry is written again under a
// higher token: the owner goes on, and the buffers are released to it. Fences are sent again when a
// Begin is repeated and when a connection has come up; an owner that gets a repeated Begin repeats
// it to those whose fences it misses. It waits for all regions that took part, without those that
// are gone from the view of the hand-off or a later one: regions of that view fence although the
// owner may not have it yet. None routes before its first registration; the answer to that names
// the hand-offs in progress, and a region does not follow what its copy of the table says about the
// time before, unless the coordinator confirms it: the copy may lag behind hand-offs in which it
// had no fence to send.
//
// # Registration, and leaving
//
//	region ── Register ──► coordinator ── writes the list of regions ── Registered ──► region ── Confirm ──► coordinator
//
// A region is given shards when it has confirmed, or has reported to a takeover. From then on it
// asks before it leaves, and goes on the word of the coordinator with the highest floor that it
// knows. Before that no coordinator counts on it: it leaves at once, and confirms nothing any more.
// So no shard goes to a region that has left, however late a registration arrives.
//
// # Stopping shards for good
//
// StopShards asks for a hand-off without a new home. When the owner has stopped, the coordinator
// writes an entry without a home. That entry is above the hand-off and so ends it for all regions.
// A message for such a shard makes its region ask for a home, and only this gives the shard one.
// AtRest answers when a majority knows; the region that asked repeats its request until then. If
// messages wait at the end of the hand-off, the shard gets its next home at once. Types that
// remember entities refuse: "in the end every shard with remembered ids has a home" would not hold.
//
// # A region that is closed while its node stays
//
// A closed region leaves like a region whose node leaves, but it stays a member of every audience:
// it passes on late messages, and fences. So if no other region can take its shards, they are
// handed off without a new home, with fences, as in StopShards. Without fences, regions that have
// not heard of the stop could send more to it. A later region of the node would pass that on, and
// newer messages could overtake it. The coordinator of its node goes on as well. What cannot be
// handed over in time is stopped by force (Quit). The coordinator is told when nothing runs any
// more (LeaveRequest with Left, until it is answered).
//
// The regions of one node are told apart by their life, in every message that says what one of them
// is: a later one obeys no command from before its registration, and what an earlier one has said
// does not count any more when the later one has registered. Its floor, and the count of the tokens
// of the node's coordinators, go on (Predecessor).
//
// # Shutdown of the whole cluster
//
// In a view that is Closing no hand-off begins. A shard that loses its home gets no other one, and
// a shard that loses its lease starts again where it was. A region whose node leaves then stops its
// shards without asking and without fences, and says Left when it hosts nothing. It still answers
// every Begin, so hand-offs that had begun end as usual. Closing travels in the chain of views, so
// a coordinator that sees the member gone has seen it. A region that says Left before that says it
// too (Closing). A region that asks for a shard that has ended is told so, and drops the messages
// that wait for it.
//
// # Remembered entities
//
// The ids of a shard are an ORSet in the durable space, key sharding/TYPE/ids/SHARD. The shards
// that have ids are another, key sharding/TYPE/ids/shards: it is how a coordinator knows, after a
// restart of the whole cluster, which shards to start with no traffic. A shard is put there before
// its first id, and taken out after its last. All durable keys of a type share one prefix,
// DurablePrefix. A driver may keep both elsewhere: StateIDs and StateRemembered name them, wherever
// they are.
//
// At most one write of a shard is under way; changes that come meanwhile travel together in the
// next one. A write costs as much as what it changes. A write or a read that fails is repeated
// after an eighth of RetryInterval, then after twice as long each time, up to RetryInterval.
// Nothing is given up, and an event reports it once. The driver's time limit for one try ends
// before another is begun, so an answer that comes too late matches no try and is ignored.
//
// Recovery says how fast the shards of a region start what they remember, all together. The
// number of shards or the hash may change while all nodes are stopped. Then the set of a shard has
// ids that belong to another. Each is started in its own shard, which remembers it. Then it is
// forgotten here: by the shard, or by the coordinator if there are fewer shards now. Whatever dies
// between the two, the id is in one set at least. A write of an earlier owner that comes late may
// take the id of a living entity out of the set, or a shard out of the set of shards: it is put
// back.
//
// # Changing Shards
//
// All nodes that run a type have one number of shards: a node with another one is refused (Compatibility), so
// Shards changes while all are stopped. A rolling restart to another number would run entities twice. Package
// proptest/sim plays it without the refusal (the defect mixes-shards): in 11 of 12 worlds an entity is found that
// runs twice, mostly within the first round of restarts.
//
//  1. Node a has N shards still, b and c have 2N. An id belongs to shard 1 by N, and to shard N+1 by 2N.
//  2. a hosts shard 1, and has the entity run: a message from a has come, or the id is remembered in that shard.
//  3. The coordinator, which has 2N, gives shard N+1 to b. c sends to the id, and b has the entity run, too.
//
// No token, fence or lease stands in the way: each is of one shard, and the entity is in two. While the
// coordinator has N, shards from N on have no home, and what b and c send to them waits.
//
// A change while the type runs needs that numbers of shards never meet. This is how it could be done, and is not yet:
//
//   - A generation is the type at one number of shards: a whole instance of this protocol, with a coordinator, a
//     table, sets of ids and a channel of its own, as if it were another type. A node that was started with k·N runs
//     both, and one with N the old one.
//   - When all regions of the old generation have said that they know k·N, its coordinator seals it. It stops all
//     shards by hand-offs without a new home, as StopShards does, also where entities are remembered. Then it writes
//     with a majority that the generation is sealed, and what the next number is. It gives no home from then on.
//   - A coordinator of either generation reads the seal from a majority when its term begins. That of the new
//     one gives no home before the seal is there. So no shard of the old one runs when one of the new one begins,
//     whatever dies in between.
//   - A shard s of the old generation becomes the shards s, s+N, s+2N … of the new one, for each ShardFunc: its number
//     is taken modulo Shards. So each buffer of a region falls into k of them, and the order of each sender to each
//     entity stays.
//   - The ids of shard s are read by these k shards from the old set, as strangers are, and forgotten there when they
//     are written. Reminders move as after a stop of all nodes (package sharding/remind/rehash).
//   - From the seal on a node that has N is refused with both numbers.
//
// The type stands still from the first hand-off until the first homes of the new generation: longer than for one
// hand-off, because all shards stop at one time. What is open: a region that leaves or starts between the hand-offs
// and the seal, a cluster that is closed then, and how a stop is told from one that was asked for (AtRest).
// N shards cannot come from k·N in this way, because k buffers would become one.
//
// # Leases of an outside store
//
// The views and the nodes' leases ensure that no two nodes host a shard. That guarantee breaks when
// an operator downs the wrong half, or when two clusters are founded under one name. With
// Config.Leases.Shards each shard takes a lease of its own, in a store that all share, before it
// loads anything. It gives the lease back after its last entity and its last write, before it says
// that it has stopped, unless the store takes more than an interval. A shard that cannot get the
// lease waits. It tries again after an eighth of Leases.RetryInterval, then after twice as long
// each time, up to Leases.RetryInterval. A LeaseOp asks, answers name its generation. A shard that
// waits answers a hand-off at once. If its first try has no answer yet and messages wait, it
// answers only after an interval, because the messages are delivered in order if it starts. A shard
// that loses its lease is killed. Its region reports it stopped under the token by which it hosted
// it, and obeys that command no more. The region starts the shard again after a pause, if it is
// told to. A region that cannot use the store, or has lost a lease, is given no shards for twelve
// intervals, and longer while it complains, as long as another can take them. Its waiting shards
// are handed off. When no region could use the store, the coordinator moves one shard as a trial
// after twelve intervals, then after twice as long each time, up to 48. With
// Config.Leases.Coordinator a coordinator takes a lease before its term begins. The term ends when
// the lease is lost, or when its node is about to say that it has stopped (Resign): the next
// coordinator finds the lease free.
//
// # Guarantees
//
//   - No two nodes host a shard at one time, given that views and leases are what package
//     membership promises.
//   - A planned hand-off loses no message and keeps the order of each sender to each entity.
//   - Coordinator, owner, new home or any region may die, and any control message may be lost,
//     repeated or late, in every phase.
//   - In the end every shard with traffic, and every shard with remembered ids, has a home, if the
//     type runs on the member in charge of it and some region can host.
//   - A remembered id of a running entity is in the set when the entity starts, and stays there
//     until it was passivated.
//
// # Not guaranteed
//
//   - Messages on their way to a node that dies, or in its mailboxes, are lost; those in the
//     mailboxes of a shard that loses its lease, too.
//   - There is no order between senders. There is none across the death of a home, a close by
//     force, the loss of a shard's lease, or a hand-off of a shard that waits for its lease.
//     After a lost lease and such a close there is no fence: order is back when every region knows of
//     a later home. One that was paused may hear of the home before when others route to the later
//     one, and pass on to it what they send.
//   - A hand-off whose owner has a handler that does not return is aborted and tried again; it
//     cannot be forced.
//
// # Driving the machines
//
// Every machine has one entry, Step, and asks for a Tick at its Deadline. Effects are carried out
// in the order of their fields. A message whose ToCoordinator is true goes to the Coordinator of
// the receiving node, others to its Region, also when the sender is the node itself. Fences come on
// the data lane and are handed to the Region in that lane's order. StateWrite and StateRead are an
// Update and a Get with majority consistency; Mutate and Result translate. LeaseOps of one lease
// are carried out one after the other, on no machine's goroutine. A Consultation is asked on a
// goroutine of its own, and nothing waits for that goroutine.
package protocol
