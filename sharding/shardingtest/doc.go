// Package shardingtest tests entities without a cluster: a user's own sharding.EntityType runs on a node
// in memory, whose time and whose failures are calls of the test.
//
//	func TestCart(t *testing.T) {
//		k := shardingtest.New(t, cartType)
//		if err := k.Tell("cart-1", AddItem{Name: "apple", Count: 2}); err != nil {
//			t.Fatal(err)
//		}
//		k.Advance(time.Hour) // it was passivated, and has lost what it does not store
//		total, err := shardingtest.Ask(k, "cart-1", Total{})
//		…
//	}
//
// # Nouns
//
//   - A [Kit] is an entity type on a [Node], which is the only member of its cluster. The entities that
//     the test names are under test. [Others] stand in for all other entities, and keep what is sent
//     to them.
//   - [Faults] have the calls of a store fail, hang, or lose their answers. The stores are those that
//     users give to their types: sharding/persistence/memory and sharding/remind/memory.
//   - The story is what has happened. The log of a test that fails tells it.
//   - [Regions] starts a type on the nodes of a cluster in one process (ddata/ddatatest), which the test
//     cuts, pauses and kills; [AwaitHosted] and [AwaitActive] wait for where an entity is.
//
// # Time
//
// In a bubble of testing/synctest everything runs on goroutines, and the time is that of the bubble.
// Package proptest/bubble opens one that survives the race detector.
// Elsewhere everything runs on the goroutine of the test, one thing after another, and the node has a
// clock of its own, which only the test moves: two runs of a test are the same. Either way no test
// sleeps. A call that waits, such as [Ask], lets time pass when nothing else can happen.
//
// # Guarantees
//
//   - What runs is what runs in production: the region with its coordinator and its machines, the real
//     Context, mailboxes, supervision, passivation, reminders, and entities with stores. Only the
//     membership, the connections and the replicated data are stand-ins (ddata/host/hosttest).
//   - When a method of a Kit or a Node returns, everything has happened that can happen without time.
//   - Nothing of a Node outlives its test.
//
// # Not guaranteed
//
//   - Outside of a bubble time.Now in a handler is the time of the process, and so is the time that
//     functions of package time wait for. Handlers that read the clock, start goroutines or wait for them
//     belong into a bubble. A handler that waits for its own test never ends.
//   - Messages are not encoded, because none leaves the node. On a cluster of several nodes they are.
//   - A Node never shares its cluster. Hand-over between nodes is what Move and Restart make of it.
package shardingtest
