// Package sharding spreads stateful entities over the nodes of a cluster. Each entity lives on
// exactly one node at a time. Its id is its address, and it handles one message at a time.
//
//	carts, err := sharding.Start(node, sharding.EntityType[Command]{
//		Identity: sharding.Identity{Name: "Cart", Role: "backend", Shards: 100},
//		Messages: sharding.CBOR[Command](AddItem{}, Total{}),
//		New:      func(*sharding.Context[Command]) sharding.Entity[Command] { return &Cart{} },
//	})
//	total, err := sharding.Ask(ctx, carts.Ref("cart-42"), Total{})
//
// # Nouns
//
//   - An entity is a user's value with a Receive method. The first message to its id makes it. It
//     is passivated when it asks for it, when it was idle for long, or when too many are active.
//   - A shard is the group of entities whose ids hash to one number. It moves between nodes as a
//     whole.
//   - A [Region] is the part of an entity type that runs on one node: it routes messages and hosts
//     shards. On a node without the type's role it is a proxy: it routes and never hosts.
//   - The coordinator, one per type, decides which region is the home of which shard. It is on the
//     first node of the role that has started the type, and then on the next.
//
// An [EntityType] has all settings of a type, nested by subject. An idle entity has no goroutine: a
// worker of the type's pool takes what waits in a mailbox, and lets the entity go.
//
// # Guarantees
//
//   - No entity runs twice at one time. A handler starts, and its effects happen, only while the
//     node holds its lease. Context.Fence has a token with which an outside store can refuse what
//     comes later.
//   - One handler of an entity runs at a time, and what one wrote the next one sees.
//   - Messages from one goroutine to one entity arrive in order, also across a planned hand-off.
//   - A planned hand-off loses no message. Each loss that this process can see is counted with its
//     reason, and given to EntityType.OnEvent.
//   - A node that leaves in order answers for every message that it has taken.
//
// # Not guaranteed
//
//   - Delivery is at most once: a node that dies takes the messages in its mailboxes with it, and
//     so does a shard that loses its lease. Use Ask and repeat, or package delivery.
//   - There is no order between several senders, nor between two entities. There is none of one
//     sender across the death of a home or the loss of a shard's lease.
//   - An entity keeps no state by itself. Packages eventsourced and durablestate have entities that
//     do.
//   - Local messages are not copied: do not change a message that was told.
//
// # More
//
// Remembered entities (EntityType.Remember) start again wherever their shard goes. Reminders wake
// an entity at a time. Package allocation picks homes, package passivation picks which entities go.
// Package daemon keeps workers running, package projection carries events to read models. Package
// shardingtest tests an entity without a cluster.
//
// The guides in the folder doc tell of entities and their life, step by step. The file design.md
// beside this one has the rules in full: leases, failures, changes of settings, metrics, and the
// settings of Pekko and Akka with what stands for each here.
package sharding
