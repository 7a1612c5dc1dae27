// Package sharding spreads stateful entities over the nodes of a cluster: each entity lives on exactly one node at a time, is addressed by
// its id alone, and handles one message at a time.
//
// # Nouns
//
//   - An entity is a user's value with a Receive method. It is made by the first message to its id (or because it is remembered), and is
//     passivated when it asks for it, when it was idle for long, or when too many are active.
//   - A shard is the group of entities whose ids hash to one number; shards are what moves between nodes.
//   - A region is the part of an entity type that runs on one node: it routes messages and hosts shards. On a node without the type's role the
//     region is a proxy: it routes and never hosts.
//   - The coordinator, one per type, on the oldest node of the role, decides which region is the home of which shard.
//
// The decisions are made by the pure machines in sharding/protocol. This package is what runs them, and the data plane, which no machine
// touches: a message looks up its shard in a table that is read without a lock and goes to a local mailbox, into the connection to the
// home, or, while the home is unknown or moving, into the shard's bounded buffer.
//
// # Guarantees
//
//   - A handler starts, and every effect of its Context happens, only while the node holds its lease. With the hand-off rules of
//     sharding/protocol this gives: no entity runs twice at one time. A handler that is running while the lease ends cannot be killed: its
//     context is cancelled and its effects are refused. Context.Fence gives a token with which an outside store can refuse it too.
//   - One handler per entity at a time, and what one handler wrote the next one sees.
//   - Messages from one goroutine to one entity arrive in the order in which they were told, also across a planned hand-off.
//   - A planned hand-off loses nothing. Messages are lost only where a bound was hit or a node died; each loss that this process can see is
//     counted with its reason and given to EntityType.OnDrop. What had not left for the node that died, because its connection was gone before, waits
//     for the shard's next home: questions to it end with the answer from there.
//   - A reply is never given to another question, and none that arrives in time is discarded, however many callers there are.
//
// # Not guaranteed
//
//   - Delivery is at most once: a node that dies takes the messages in its mailboxes with it. Use Ask, and repeat.
//   - There is no order between several senders, nor between two entities.
//   - The state of an entity is the user's affair; only ids are remembered.
//   - Local messages are not copied: sender and handler share what a message points to, so a message must not be changed once it is told.
//
// # Mailboxes and workers
//
// An idle entity has no goroutine. A mailbox that gets a message is put on the run queue of its type's worker pool; a worker takes all that
// waits, handles it, and lets the entity go. A handler that blocks keeps its own worker only: when the queue stands still the pool adds workers.
// Nothing that reads from the network ever waits for a mailbox: a full one is a counted drop, answered at once if it was an Ask. Tell from
// outside waits for room until its context ends; Tell inside a handler never waits, because two entities that wait for each other
// would never stop.
//
// # Homes
//
// EntityType.Strategy, one of package allocation or the user's own, says which region is the home of a shard, and which shards move when the coordinator
// looks at the balance. It looks every RebalanceInterval, if no member is joining or unreachable, all run one app version, and they have been the
// same for RebalanceDelay; a shard that has lost its home gets another at once whatever the gates say. With a strategy that looks at loads, each
// shard counts its messages and the time of its handlers, once per turn of a worker, and the regions report them. ExternalClient says where
// shards shall live to types whose strategy is allocation.External.
//
// # Shutting down
//
// ddata.Node.Leave hands the shards of its node over; Region.Close ends one region without. Before a whole cluster is stopped, ddata.Node.PrepareForShutdown
// on one node tells it: from then on nothing is balanced or handed over, a shard that has lost its home gets no other, and each node that leaves stops its
// entities in place, with their Stop. A shard that never had a home still gets one. Messages for what has stopped are dropped with DropStopped when the
// region ends. Remembered ids stay, and start with the next start of the cluster.
//
// # Passivation
//
// EntityType.Passivation says who is passivated without asking for it: by default those that saw no message for two minutes. With an ActiveEntityLimit
// each hosted shard gets an equal part of it and has a policy of sharding/passivation that picks who goes. A sender touches none of that: the worker tells the
// policy of a use, once per turn with an entity, and a limit or a time-out that is not configured costs nothing.
//
// However it came about, an entity that is passivated handles what its mailbox holds and stops; what comes later waits in its mailbox for a new
// incarnation, in order. If it has not stopped in Strategy.StopTimeout it stops as soon as its handler returns. Who is not active, or stops
// already, is not passivated again. Region.Stats counts causes and forced ones.
//
// # Entry
//
// Start hosts the type where the node has its role and is a proxy elsewhere; StartProxy never hosts. Lookup and Types find what was started. Ids go to
// shards by EntityType.Hash: xxHash, or the murmur2 of Kafka's partitioner. Register and Report carry Hash and Shards: a node where the type has others is
// refused by the coordinator, and both tell a protocol.TypeMismatch. An Inlet takes values that name their entity themselves; it keeps nothing between two of them.
// Messages and replies are CBOR, or what Encoded is given. An error with which a handler answers reaches the asker under ErrHandler, as text, and as
// itself if EntityType.Errors lists it.
//
// # Inspection
//
// Any region, proxies too, asks others what runs there, past the machines and bounded by EntityType.QueryTimeout and the context: State (one region, with the ids of
// active entities, 1 MiB of them and a mark if there are more), ClusterStats, TotalActive, CurrentRegions (every member of the view that has the role is
// asked, and who did not answer is named), and Where (an entity, without starting it). Stats counts what is here. Events go to ddata.Config.Sight and the log as
// Event. A type that no coordinator has ever registered keeps ddata.Node.Health from being ready; Health says which types count.
//
// Settings of the reference, and where they are here:
//
//	shard-region-query-timeout    EntityType.QueryTimeout    3 s
//	healthcheck.names             Health                     every type that was started; with names these, started or not
//	healthcheck.timeout           none                       the check asks nobody
//	healthcheck.disabled-after    none                       what was registered once stays so, and before that a node is not ready
package sharding
