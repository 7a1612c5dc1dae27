// Package sharding spreads stateful entities over the nodes of a cluster: each entity lives on
// exactly one node at a time, is addressed by its id alone, and handles one message at a time.
//
// # Nouns
//
//   - An entity is a user's value with a Receive method. The first message to its id makes it; a
//     remembered one is made without a message. It is passivated when it asks for it, when it was
//     idle for long, or when too many are active.
//   - A shard is the group of entities whose ids hash to one number. It moves between nodes as a
//     whole.
//   - A region is the part of an entity type that runs on one node: it routes messages and hosts
//     shards. On a node without the type's role the region is a proxy: it routes and never hosts.
//   - The coordinator, one per type, decides which region is the home of which shard. It is on the
//     first node of the role that has started the type, and then on the next.
//
// The decisions are made by the pure machines in sharding/protocol, and carried out by package
// control. No machine touches the data plane, package dataplane. A message looks up its shard in a
// table that is read without a lock. It goes to a local mailbox, or into the connection to the
// home. While the home is unknown or moving, it goes into the shard's bounded buffer. What travels
// is made and read by package codec. This package is what users see of all that.
//
// # Guarantees
//
//   - A handler starts, and every effect of its Context happens, only while the node holds its
//     lease. With the hand-off rules of sharding/protocol this gives: no entity runs twice at one
//     time. A handler that is running while the lease ends cannot be killed: its context is
//     cancelled and its effects are refused. Context.Fence gives a token with which an outside
//     store can refuse it too: each hosting of a shard has a higher one. The store keeps the
//     highest with each row, as FencingToken.Bytes, and refuses a lower one.
//   - One handler per entity at a time, and what one handler wrote the next one sees.
//   - Messages from one goroutine to one entity arrive in the order in which they were told, also
//     across a planned hand-off.
//   - A planned hand-off loses nothing. Messages are lost only where a bound was hit, a node died,
//     a shard lost its lease, or a stop was forced. Each loss that this process can see is counted
//     with its reason and given to EntityType.OnEvent. A message that had not left for a node that
//     died waits for the shard's next home, and a question then gets its answer from there.
//   - A node that leaves in order answers for every message that it has taken. Messages in its
//     mailboxes are handled, or go to the next home; questions that handlers have taken by
//     Context.Responder are answered first, for at most Timeouts.Ask; and it says that it has
//     stopped when the others have received all answers. What came to it afterwards it passes on;
//     what it has not taken is sent to the next home. So a question under way when a node leaves
//     does not fail because of it, and what was handled is not reported as lost. The others must be
//     reachable for that. If the node is asked to leave before it is Up, what was told on it is sent
//     when it is: until then the node stays.
//   - A reply is never given to another question, and none that arrives in time is discarded,
//     however many callers there are.
//
// # Not guaranteed
//
//   - Delivery is at most once: a node that dies takes the messages in its mailboxes with it, and
//     so does a shard that loses its lease. Use Ask, and repeat.
//   - There is no order between several senders, nor between two entities. There is none of one
//     sender across the death of a home, the loss of a shard's lease, a hand-off of a shard that
//     waits for its lease, or a close whose context has ended. What was told before may be lost,
//     and what is told after may come before what was on its way. After a lost lease and such a
//     close this lasts until every node knows of a later home: one that was paused may still hear of
//     the home before, and pass on to it what others send.
//   - An entity keeps no state by itself; only ids are remembered. Packages eventsourced and
//     durablestate have entities that keep it.
//   - When all directories are lost, tokens rise by the founders' wall clocks alone. If the clock
//     of the new founder is behind that of the former founding, an outside store refuses the new
//     tokens (ddata.FencingToken).
//   - Local messages are not copied: sender and handler share what a message points to, so a
//     message must not be changed once it is told.
//
// # Mailboxes and workers
//
// An idle entity has no goroutine. A mailbox that gets a message is put on the run queue of its
// type's worker pool; a worker takes all that waits, handles it, and lets the entity go. A handler
// that blocks keeps its own worker only: when the queue stands still the pool adds workers. Nothing
// that reads from the network ever waits for a mailbox: a full one is a counted drop, answered at
// once if it was an Ask. A mailbox is full by the number of its messages, and by the bytes of the
// messages that other nodes have sent. These bytes are bounded for a region and for the node, too.
// Tell from outside waits for room until its context ends. Tell inside a handler never waits,
// because two entities that wait for each other would never stop. A handler that does not return is
// reported after Timeouts.HandlerSlow, with its entity and its stack. The errors of Ask and Leave,
// which wait for it, name it.
//
// A handler that needs a result from outside, such as that of a store, need not block: Context.Await
// leaves its message unfinished, and the rest runs when the result is there. The entity handles
// nothing else until then, and takes neither a worker nor a goroutine. Such a wait is reported after
// Timeouts.HandlerSlow, too. The errors of Ask and Leave name it, and what it is for if Awaited.For
// has said that. An Ask of another node names the node of the entity instead.
//
// # Homes
//
// EntityType.Allocation.Strategy, one of package allocation or the user's own, says which region is
// the home of a shard, and which shards move when the coordinator looks at the balance. It looks
// every Rebalance.Interval, if no member is joining or unreachable, all run one app version, and
// they have been the same for Rebalance.Delay. A shard that has lost its home gets another at once,
// without these conditions. With a strategy that looks at loads, each shard counts its messages and
// the time of its handlers, once per slice of a worker, and the regions report them. If the strategy
// is allocation.External, an ExternalClient says where the shards live (Region.External).
//
// # Shutting down
//
// ddata.Node.Leave hands the shards of its node over, and Region.Close those of one type on a node
// that stays. Before a whole cluster is stopped, ddata.Node.PrepareForShutdown on one node tells
// it. From then on nothing is balanced or handed over. A shard that has lost its home gets no
// other, and one that has lost its lease starts again where it was. Each node that leaves stops its
// entities in place, with their Stop. A shard that never had a home still gets one. Messages for
// what has stopped are dropped with DropEnded, and questions answered with ErrStopped, at once.
// Remembered ids stay, and start with the next start of the cluster.
//
// # Leases
//
// The guarantees above stand on the views of the membership. EntityType.Leases.Shards adds a guard
// outside of it: each shard takes a lease in that store before it starts, and entities act only
// while it is held, as they do under the node's. A shard whose lease another holds waits, and its
// messages wait in the region's bounded buffer. A caller that asks meanwhile is told which lease it
// is and what holds it. A hand-off does not wait for it. A lost lease stops the shard at once. What
// its mailboxes held is dropped with DropLeaseLost. The shard starts anew, here or elsewhere, when
// the lease can be had. The lease is given back when the last entity has stopped and the last id is
// written, and after a stop by force not before the last handler has returned. A node that cannot
// use the store, or has lost a lease, gets no shards for twelve times Leases.RetryInterval while
// another can take them. It hands over those that wait there for leases. If no node can use the
// store, all shards wait where they are, except one now and then that tries elsewhere.
// EntityType.Leases.Coordinator does the same for the type's coordinator. It is given back before
// the node says that it has left. Leases are named shard/CLUSTER/TYPE/NUMBER and
// coordinator/CLUSTER/TYPE. In a name above locks.NameMax bytes the part before the number is cut,
// and ends with "…" and a hash of the whole. The owner is "UID of ADDRESS". Stores are asked on
// goroutines of their own, for at most 5 s at a time.
//
// # Failures
//
// An error of Receive, a panic (a *PanicError) and a handler that ends its goroutine are failures
// of the entity. An asker gets the error, as ErrHandler. EntityType.Supervision decides what
// becomes of the entity: Resume, Restart, Stop, or Escalate to its shard. It decides by the error,
// because a lost connection asks for something else than a broken invariant. A restart waits for a
// backoff, and messages wait with it. So a budget bounds them: after Restarts within Within an
// entity is stopped, or its shard ends. The next message makes a stopped entity again, without a
// pause. There is no parent that a failure could be passed on to: what stands above the entity is
// its shard, and above that nothing fails.
//
// # Passivation
//
// EntityType.Passivation says which entities are passivated without asking for it: by default those
// that saw no message for two minutes. With an ActiveEntityLimit each hosted shard gets an equal
// part of it and has a policy of sharding/passivation that picks which entity goes. A sender
// touches none of that: the worker tells the policy of a use, once per slice with an entity. A limit
// or a time-out that is not configured costs nothing.
//
// However it came about, an entity that is passivated handles what its mailbox holds and stops.
// What comes later waits in its mailbox for a new incarnation, in order. If it has not stopped in
// Passivation.StopTimeout it stops as soon as its handler returns. An entity that is not active, or
// stops already, is not passivated again. Region.Stats counts causes and forced ones.
// Region.ExplainPassivation runs on the node that hosts an entity. It says why the entity was
// passivated, how long it has been idle, where the policy has it, and which entity goes next.
//
// # Remembered entities
//
// With EntityType.Remember.Entities the ids of entities that were started and not passivated are
// kept, one set per shard, in the durable space of the role's reserved data, or in a Remember.Store. An entity
// starts when its id is written, to a majority. Writes of a shard travel together, and cost as much
// as what they change, however large the set is. Remembered entities are started again wherever
// their shard goes, after a restart of all nodes too, all at once or as
// EntityType.Remember.Recovery says. One that ended without being passivated is started after
// Remember.RestartBackoff. Either is started at once when a message comes. If ids cannot be
// written, messages wait in the mailbox, and the shard tries again and again. An alarm says so
// (protocol.RememberFailed), and a caller that asks in vain gets ErrRemembering with the cause.
// Shards and ShardOf may change while all nodes are stopped: entities then move to their shards.
//
// With an empty ddata.Config.DurableKeys no disk has the ids. Remembered entities then survive all
// but a stop of every node of their role. It is for nodes without disks.
//
// # Reminders
//
// With Reminders.Enabled an entity has messages sent to itself at a time (Context.Remind), or again and
// again (Context.RemindEvery). They survive passivation, moves and a stop of all nodes, unlike those of
// Context.After, which live with the incarnation. One that is due wakes its entity:
//
//	c.Remind("overdue", time.Now().Add(14*24*time.Hour), SendNotice{})
//	…
//	c.CancelReminder("overdue") // it was paid
//
// Reminders are kept in the durable space of the users' data of the role, for users decide how many they
// are and how large. There is a key per shard. Or they are kept in a Reminders.Store: for
// nodes without disks there is one in sharding/persistence/postgres. The home of a shard reads the first
// ones that are due: others take no goroutine, no timer and no memory there. The coordinator starts
// shards that have some, with no message. A shard that is handed over writes first what its handlers have
// ended. A reminder that waits in a mailbox goes with its shard.
//
// A reminder is taken off when its handler has returned without an error, so it comes at least once:
// again after a failure, with a pause from Reminders.BackoffMin to BackoffMax that is stored, too, and
// perhaps again after the death of a node. It never comes before its time by the clock of the node, and
// late when the node is busy: at most Reminders.FiringMax of a shard are with their entities at one
// time. If the clock of one node is an hour ahead of the others, a reminder comes an hour early there,
// or, after a failure there and a move, an hour late. An alarm tells of a store that fails, and of
// reminders that no node can decode. Shards and ShardOf may change while all nodes are stopped: reminders
// are then moved to the shards of their entities, before the entities use them.
//
// # State in a journal
//
// By default the homes of shards are reserved data of the role (package ddata), which no user's data holds
// up, and each of them is known to a majority of the
// role's nodes before it is used. With EntityType.Coordination.Ledger they go into a journal, such as
// tables of PostgreSQL, and no majority is asked. A new coordinator reads the journal, and fences it
// first: a coordinator that was paused is refused with its next write, and says so
// (protocol.CoordinatorDeposed). While the journal fails or is silent no shard gets a home and no
// coordinator begins. It says so as of other state. What runs goes on, and so do messages to known
// homes. With a Remember.Store in a journal, too (package journaled), remembered entities survive a
// stop of all nodes although none has a disk.
//
// Each may be set without the others. A ledger alone keeps no ids and no reminders: without disks they go
// with the last node, as above. What to set depends on what the cluster has:
//
//	the nodes have                     homes    remembered ids   reminders        ids and reminders survive
//	disks                              default  default          default          a stop of all
//	no disks, and need nothing later   default  DurableKeys: []  DurableKeys: []  all but a stop of all
//	no disks, and a database           Ledger   Remember.Store   Reminders.Store  a stop of all
//	disks, and there is a database     default  Remember.Store   Reminders.Store  a stop of all, and the loss of all disks
//
// The stores in PostgreSQL are one Store of sharding/persistence/postgres: it is the journal of the ledger and
// of the ids, and its method Reminders is the Reminders.Store of a type. That one is fenced: a node which was
// paused, and whose shard has moved, changes no reminder any more. Reminders in the default, which are
// replicated data, have a rare exception: see package remind/replicated.
//
// The default asks nothing outside of the cluster. A journal is one more service that must run for a
// shard to get a home, or an id to be written.
//
// All nodes of the role change from one mode to the other while the whole cluster is stopped. Homes
// are made anew. Package transfer copies the ids from one mode to the other, and compares.
// ledger.Remove and journaled.Remove forget what a stopped type has in a journal. Command
// coterie-postgres does both; coterie data forgets what directories have.
//
// # Entry
//
// Start hosts the type where the node has its role and is a proxy elsewhere; StartProxy never
// hosts. Lookup and Types find what was started. Ids go to shards by EntityType.ShardOf: xxHash,
// the murmur2 of Kafka's partitioner, or a function of the user's, which keeps ids together that
// belong together. It has a name, because nodes cannot compare functions. ShardOf, Shards,
// Remember.Entities, Reminders.Enabled, Allocation.Strategy, whether there is a Coordination.Ledger, and the
// stores of ids, reminders, leases and states are compared when a node joins the type: a store by its method
// ID() string, or by its Go type if it has none, a strategy by its name (allocation.NameOf). The
// coordinator refuses a node that has others. While nodes of a build before are in the cluster, strategies and
// stores of states are not compared (format.Headers). Both nodes note a protocol.TypeMismatch with both
// values, and the error of an Ask there says so.
//
// Ask takes an EntityRef, which Region.Ref makes of an id, for one question or to be kept. Its
// Request says of which M it is and what it is answered with, so that the compiler refuses a
// question to entities of another type. An Extractor takes values that name their entity
// themselves; it keeps nothing between two of them. Messages and replies are CBOR, or what Encoded
// is given. An error with which a handler answers reaches the asker under ErrHandler, as text, and
// as itself if EntityType.Errors lists it.
//
// # Changing settings
//
// Most settings change by a rolling restart, with any value on any node. What nodes compare when they join the type
// (see Entry) changes so:
//
//	Shards, ShardOf            stop all nodes, start them with the new value; remembered ids and reminders move to
//	                           their shards. Another function needs another name. After an upgrade from format level 1
//	                           change them when the level has risen, and not in the same stop: reminders would stay in
//	                           their former shards (protocol.ReminderStranded).
//	Leases, to be introduced   a rolling restart with the stores and Leases.Announced; one without Announced
//	Leases, to be taken away   a rolling restart with Leases.Announced; one without the stores
//	Leases, another store      a rolling restart with Leases.Announced; one with the other store, announced; one
//	                           without Announced (not in the roll-out of a new build of Coterie: after it)
//	Allocation.Strategy        a rolling restart with the other one and Allocation.Changing; one without Changing
//	StateStores                stop all nodes, copy what the stores have
//	Ledger                     stop all nodes; homes are made anew
//	Role                       stop all nodes; ids and reminders in the replicated data of the old role stay there, and
//	                           those in stores of your own come
//	Remember.Store             stop all nodes, copy the ids by package transfer or coterie-postgres
//	Reminders.Store            stop all nodes; reminders are not copied: wait until none is left, or set them again
//	Remember.Entities,         stop all nodes; what was remembered or set before stays stored, and comes when it is
//	Reminders.Enabled          turned on again
//
// Begin with the next rolling restart when the last node is back, and no coordinator tells of protocol.LeasesDiffer
// any more. What is left open for an hour is an alarm with the nodes' names: protocol.ChangingLeft, LeasesLacking.
// While a node takes no leases, no lease guards the type. Never change Role or Shards by a rolling restart: nodes with
// the other value take no part (protocol.TypeMismatch) until the last node with the old one is gone.
//
// # Stopping shards
//
// Region.StopShards stops shards for good: their entities stop as in a move, and no node hosts them
// until a message asks. It is for ids that will not be used again, as the workers of package daemon
// after a rescale. Types that remember entities refuse it.
//
// # Nodes without the type
//
// A node that has the role need not run the type. So a roll-out may bring a new type, or drop one: the
// first node that starts it has its coordinator, and keeps it until it goes. From its start on, each node
// answers for types that it has not started: it hosts nothing. Where a region was closed its machines go
// on and answer: they pass on what others still send, send fences, and have the coordinator, if it is
// there. A member that does not answer at all holds up a
// coordinator that begins, because it may host. Node.Health, the error of an Ask, and the event
// ReportAwaited name it.
//
// A coordinator that cannot read or write its state repeats that, and places no shards meanwhile.
// The log says so with the key, the level and the replicas that are missing: as a warning at once
// (protocol.StateDelayed), as an alarm after five seconds (StateFailed), and when it is over
// (StateResumed). After five seconds it tells the regions, too: the error of an Ask, and Node.Health,
// say what fails. Shards say the same of their remembered ids (RememberFailed, RememberResumed).
//
// # Inspection
//
// The console of a node (package ddata/console) shows its types to operators, and lets them steer these.
// Any region, a proxy too, can ask the others what runs there. The machines take no part in it.
// EntityType.Timeouts.Query and the context bound the wait. State asks one region for its shards and
// the ids of active entities: 1 MiB of ids, and a mark if there are more. ClusterStats and
// TotalActive ask the cluster. CurrentRegions asks every member of the view that has the role, and
// names each that did not answer. Where asks for an entity, without starting it; with LookHere it
// answers at once, by what the region knows. Stats counts what is here. What the control plane notes
// is an Event: it goes to EntityType.OnEvent, to ddata.Config.OnEvent and to the log. A type that no
// coordinator has ever registered keeps ddata.Node.Health from being ready; Health says which types
// count.
//
// # Traces
//
// With a ddata.Config.Tracer each Tell and each Ask is a span in the trace of its context, and each handler is
// one below it, on whatever node it runs: package dataplane/spans lists their names and attributes. The trace, and
// the baggage of its context, travel in a header of the message, which waits with it for a home, moves with it, and
// is in a producer's Queue with it. The Context of a handler has them: what is told, asked and delivered with
// it, reads and writes of replicated data, and the calls of a persistent entity to its store belong to the
// trace. What comes to the end of a wait (Context.Await) belongs to the trace of its message; the message
// of a Timer belongs to none, and a Reminder begins one. A header has at most tracing.HeaderMax bytes. Headers
// cross the border of a node from the moment at which all members read them.
//
// # Metrics
//
// With a ddata.Config.Meter each type reports these, labelled with its name. What is neither a gauge
// nor a histogram is a counter since the type was started on the node. All are counted without a
// Meter, too. With one, only the time that handlers take costs more, once per slice of a worker, the
// histogram of slices, whose two looks at the clock are there already, and that of questions, with two
// looks for each.
//
//	coterie_sharding_entities{type}                   gauge: entities that are active, starting or stopping here
//	coterie_sharding_active_entities{type}            gauge: of these, those that run, or stop
//	coterie_sharding_active_entity_limit{type}        gauge: limit on active entities here; 0: none
//	coterie_sharding_shards{type}                     gauge: shards hosted here
//	coterie_sharding_shards_awaiting_lease{type}      gauge: of the shards, those that wait for a lease
//	coterie_sharding_mailbox_bytes{type}              gauge: bytes of other nodes' messages in mailboxes
//	coterie_sharding_buffered_messages{type}          gauge: messages that wait for a home
//	coterie_sharding_buffered_bytes{type}             gauge: what they take of Limits.BufferBytes
//	coterie_sharding_queued_entities{type}            gauge: entities with messages that wait for a worker
//	coterie_sharding_workers{type}                    gauge: goroutines that run handlers or are ready to
//	coterie_sharding_slow_handlers{type}              gauge: handlers that run for longer than Timeouts.HandlerSlow
//	coterie_sharding_entities_awaiting_result{type}   gauge: entities that wait for results (Context.Await)
//	coterie_sharding_results_overdue{type}            gauge: of these, those that wait for longer than Timeouts.HandlerSlow
//	coterie_sharding_asks{type}                       gauge: questions under way from here
//	coterie_sharding_registered{type}                 gauge: 1 while the region is registered with the coordinator
//	coterie_sharding_coordinating{type}               gauge: 1 while the type's coordinator acts on this node
//	coterie_sharding_handled_total{type}              what was taken from mailboxes: messages, what was carried, and this package's starts and stops
//	coterie_sharding_slice_duration_seconds{type}     histogram: slices of a worker with an entity, of one message or several, if the Strategy looks at loads
//	coterie_sharding_ask_duration_seconds{type}       histogram: questions of this node until their answers, if these are no errors
//	coterie_sharding_asks_timed_out_total{type}       questions whose time was over before an answer came
//	coterie_sharding_dropped_total{type,reason}       messages that were lost, by DropReason
//	coterie_sharding_panics_total{type}               panics of the type's codecs, hooks and stores of leases, which were survived
//	coterie_sharding_passivated_total{type,cause}     entities that were told to stop, by protocol.Cause
//	coterie_sharding_passivations_forced_total{type}  of these, those that did not stop in time
//	coterie_sharding_remembered_starts_total{type}    entities that were started because they are remembered, and not by a message
//	coterie_sharding_shard_leases_lost_total{type}    leases of shards that were lost while they were held
//	coterie_sharding_trace_headers_dropped_total{type}  headers of traces that messages went without: too large, or no header
//	coterie_sharding_reminders_fired_total{type}      reminders that were put into mailboxes
//	coterie_sharding_reminders_handled_total{type}    reminders whose handlers have returned in order
//	coterie_sharding_reminders_failed_total{type}     reminders whose handlers have failed, and that come again
//	coterie_sharding_reminders_under_way{type}        gauge: reminders that are with their entities, or about to be taken off
//	coterie_sharding_reminder_lateness_seconds{type}  histogram: from when a reminder was to come until it was put into a mailbox
//	coterie_sharding_home_lookups_total{type}         shards whose home the region has asked for, each time that it asked
//	coterie_sharding_hand_offs_begun_total{type}      hand-offs that this node's coordinator has begun
//	coterie_sharding_hand_offs_done_total{type}       of these, those whose shard has stopped; others go on, were aborted, or lost their owner or coordinator
//	coterie_sharding_hand_offs_aborted_total{type}    of these, those that it has taken back
//	coterie_sharding_move_duration_seconds{type}      histogram: from the begin of a hand-off, or the loss of a home, until a home has answered
//	coterie_sharding_events_total{type,event}         events of this node's control plane, by protocol.EventKind: alarms among them
//	coterie_sharding_machine_total{type,machine,count}  what else the machines count (protocol.Counter): region, and coordinator where there is one
//
// # Settings
//
// The reference is the cluster sharding of Pekko and Akka, with its daemon process and reliable
// delivery. These are all its settings, what stands for each here, and the default. An entity type
// has one set of them, in EntityType; nothing is shared by types.
//
//	guardian-name                            none                                   nothing is addressed by a path
//	role                                     EntityType.Role                        required
//	remember-entities                        EntityType.Remember.Entities           off
//	remember-entities-store                  EntityType.Remember.Store              the role's durable data: a key per shard, of any size; package journaled for a journal
//	remember-entities-custom-store           EntityType.Remember.Store              none
//	passivate-idle-entity-after              passivation.Strategy.IdleTimeout       2 min
//	passivation.strategy                     EntityType.Passivation.Strategy        idle; passivation.Strategy.None: off
//	default-idle-strategy.idle-entity.timeout, interval   passivation.Strategy.IdleTimeout, passivation.Strategy.IdleInterval   2 min, half of it
//	default-strategy.active-entity-limit     passivation.Strategy.ActiveEntityLimit   none (there: 100000); passivation.DefaultStrategy is that strategy
//	strategy-defaults.idle-entity.timeout, interval   passivation.Strategy.IdleTimeout, passivation.Strategy.IdleInterval   2 min, half of it
//	strategy-defaults.active-entity-limit    passivation.Strategy.ActiveEntityLimit   none
//	replacement.policy                       passivation.Strategy.Replacement       least recently used
//	least-recently-used.segmented.levels, proportions   passivation.Strategy.Levels, passivation.Strategy.Proportions   1, and as the reference
//	least-frequently-used.dynamic-aging      passivation.Strategy.DynamicAging      off
//	admission.window.policy                  passivation.Strategy.Admission.Window.Policy   none
//	admission.window.proportion              passivation.Strategy.Admission.Window.Proportion   0.01
//	admission.window.minimum, maximum        passivation.Strategy.Admission.Window.Minimum, passivation.Strategy.Admission.Window.Maximum   0.01, 1
//	admission.window.optimizer               passivation.Strategy.Admission.Window.HillClimbing   off
//	hill-climbing.adjust-multiplier          passivation.Strategy.Admission.Window.Climb.AdjustMultiplier   10
//	hill-climbing.initial-step               passivation.Strategy.Admission.Window.Climb.InitialStep   0.0625
//	hill-climbing.restart-threshold          passivation.Strategy.Admission.Window.Climb.RestartThreshold   0.05
//	hill-climbing.step-decay                 passivation.Strategy.Admission.Window.Climb.StepDecay   0.98
//	admission.filter                         passivation.Strategy.Admission.FrequencySketch   off
//	frequency-sketch.depth                   passivation.Strategy.Admission.Sketch.Depth   4
//	frequency-sketch.counter-bits            passivation.Strategy.Admission.Sketch.CounterBits   4
//	frequency-sketch.width-multiplier        passivation.Strategy.Admission.Sketch.WidthMultiplier   4
//	frequency-sketch.reset-multiplier        passivation.Strategy.Admission.Sketch.ResetMultiplier   10
//	passivation.stop-timeout                 EntityType.Passivation.StopTimeout     10 s
//	coordinator-failure-backoff              none                                   a coordinator does not crash; what failed is repeated each Coordination.RetryInterval
//	retry-interval                           EntityType.Coordination.RetryInterval   2 s; the first after an eighth
//	buffer-size                              EntityType.Limits.BufferMax, EntityType.Limits.BufferBytes   100000, 64 MiB; any from 1
//	buffer-size, of entities                 EntityType.Limits.MailboxMax, EntityType.Limits.MailboxBytes, EntityType.Limits.RegionBytes   100000 and 32 MiB for each entity, 256 MiB
//	handoff-timeout                          EntityType.HandOff.BeginTimeout, EntityType.HandOff.FinishTimeout   10 s, 60 s: a limit for each phase
//	shard-start-timeout                      EntityType.Coordination.RetryInterval   2 s (there: 10 s): the command is repeated
//	shard-failure-backoff                    none                                   a shard does not fail: its reads and writes are repeated
//	entity-restart-backoff                   EntityType.Remember.RestartBackoff     10 s
//	rebalance-interval                       EntityType.Rebalance.Interval          10 s
//	journal-plugin-id, snapshot-plugin-id    ledger.Config.Journal, ledger.Config.Snapshots, journaled.Config.Journal, journaled.Config.Snapshots   of homes, and of remembered ids
//	state-store-mode                         EntityType.Coordination.Ledger         replicated data; a ledger.Ledger: a journal
//	snapshot-after, keep-nr-of-batches       ledger.Config.SnapshotAfter, ledger.Config.KeepSnapshots   1,000, 2; of ids journaled.Config has its own
//	least-shard-allocation-strategy.rebalance-absolute-limit   allocation.LeastShard.RebalanceAbsoluteLimit   20 (there: 0, the algorithm of old)
//	least-shard-allocation-strategy.rebalance-relative-limit   allocation.LeastShard.RebalanceRelativeLimit   0.1
//	least-shard-allocation-strategy.rebalance-threshold   allocation.Threshold.RebalanceThreshold   1
//	least-shard-allocation-strategy.max-simultaneous-rebalance   allocation.Threshold.MaxSimultaneousRebalance   3
//	external-shard-allocation-strategy.client-timeout   none                                   the context of the call; without a deadline ClientTimeout, 5 s
//	waiting-for-state-timeout                EntityType.Quorums.ReadTimeout         2 s
//	updating-state-timeout                   EntityType.Quorums.WriteTimeout        5 s
//	shard-region-query-timeout               EntityType.Timeouts.Query              3 s
//	entity-recovery-strategy                 EntityType.Remember.Recovery           protocol.RecoverAll
//	entity-recovery-constant-rate-strategy.frequency, number-of-entities   EntityType.Remember.Recovery           100 ms, 5 in protocol.RecoverConstant
//	event-sourced-remember-entities-store.max-updates-per-write   none                                   a write takes 8192 ids
//	coordinator-singleton.role, coordinator-singleton-role-override   EntityType.Role                        the coordinator is on a node of the role that has started the type
//	coordinator-singleton.singleton-name, hand-over-retry-interval, min-number-of-hand-over-retries   none                                   it asks what runs, whatever ran before it
//	coordinator-singleton.use-lease          EntityType.Leases.Coordinator          none; a locks.Store, not a name
//	coordinator-state.write-majority-plus    EntityType.Quorums.WritePlus           0 (there: 3); All
//	coordinator-state.read-majority-plus     EntityType.Quorums.ReadPlus            0 (there: 5); All
//	use-dispatcher                           EntityType.Limits.Workers, EntityType.Limits.WorkersMax   GOMAXPROCS, 10000
//	use-lease, lease-retry-interval          EntityType.Leases.Shards, EntityType.Leases.RetryInterval   none, 5 s; a locks.Store, not a name
//	verbose-debug-logging                    none                                   the log's level
//	fail-on-invalid-entity-state-transition   none                                   tests check the invariants of the machines after each step
//	healthcheck.names                        Health                                 every type that was started; with names these, started or not
//	healthcheck.timeout                      none                                   the check asks no node
//	healthcheck.disabled-after               none                                   what was registered once stays so, and before that a node is not ready
//	distributed-data.majority-min-cap        EntityType.Quorums.AtLeast             0 (there: 5)
//	distributed-data.durable.keys            ddata.Config.DurableKeys               the keys of remembered ids are durable whatever it lists, unless it is empty and not nil
//	distributed-data.max-delta-elements      ddata.Config.Replication               bounded in bytes
//	distributed-data.prefer-oldest           none                                   a write goes to all, and the first that answer count
//	distributed-data.gossip-interval … durable.lmdb   ddata.Config.Replication, ddata.Config.Store, ddata.Config.WriteBehind   see package ddata
//	number-of-shards                         EntityType.Shards                      100 (there: 1000)
//	sharded-daemon-process.sharding          daemon.Config.Adapt                    those of an entity type
//	sharded-daemon-process.keep-alive-interval   daemon.Config.KeepAliveInterval        10 s
//	sharded-daemon-process.keep-alive-from-number-of-nodes   none                                   one node keeps them alive
//	sharded-daemon-process.keep-alive-throttle-interval   daemon.Config.KeepAliveThrottle        100 ms
//	producer-controller.buffer-size          delivery.Config.BufferMax, delivery.Config.BufferBytes   1000, 64 MiB
//	producer-controller.internal-ask-timeout   none                                   the context of the call
//	producer-controller.cleanup-unused-after   delivery.Config.CleanupUnusedAfter     2 min
//	producer-controller.resend-first-unconfirmed-idle-timeout   delivery.Config.ResendFirst            10 s
//	durable-queue.request-timeout, retry-attempts, resend-first-interval   delivery.Config.StoreRetry             a store is tried until it has stored
//	consumer-controller.buffer-size          delivery.ConsumerConfig.Window         50: the flow-control window
//	min-nr-of-members, role.NAME.min-nr-of-members   EntityType.Coordination.MinRegions, ddata.Config.MinMembers, ddata.Config.PerRole   1; of a role: the default of MinRegions
//	app-version                              ddata.Config.AppVersion                ""; EntityType.Rebalance.MixedVersions
//	down-removal-margin                      none                                   a member goes when its lease is over
//	coordination.lease.heartbeat-timeout, heartbeat-interval, lease-operation-timeout   none                                   those of the locks.Store; a call has 5 s
//	coordinated-shutdown.default-phase-timeout, cluster-sharding-shutdown-region, cluster-exiting   ddata.Config.ShutdownTimeouts          see package ddata
//
// Without a counterpart there: Supervision, whose settings are those of a user's own supervisor
// there, Timeouts.Ask, Limits.AsksMax, Errors, HandOff.StopTimeout,
// Allocation.StrategyTimeout, Rebalance.Delay, Rebalance.Unreachable, Rebalance.Joining,
// Timeouts.HandlerSlow, Leases.Announced, and Reminders: Enabled, Store, FiringMax, EntityMax, BackoffMin and
// BackoffMax.
package sharding
