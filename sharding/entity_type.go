package sharding

import (
	"cmp"

	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/dataplane/lease"
	"github.com/coterie-go/coterie/sharding/protocol"
)

// EntityType describes one kind of entity. Identity, Remember, Messages, Allocation.Strategy,
// StateStores and the stores of Leases must be the same on every node of the role. The rest of
// Allocation and Rebalance should be, because any of these nodes may run the coordinator. The zero
// value of a field that is not required stands for its default.
type EntityType[M any] struct {
	// Identity has the type's Name and Role, which are required, and its Shards and ShardOf.
	Identity
	// Messages says which concrete types travel, and how. Required: CBOR[M](examples…).
	Messages Codec[M]
	// Errors are those that reach an asker as themselves when a handler answers or fails with one
	// of them: errors.Is finds them, on whatever node the entity is. They travel by their texts, so
	// each has its own. Of other errors only the text arrives, under ErrHandler. Optional.
	Errors []error
	// New makes an entity; it runs on a worker, before the first message. Required, except on nodes
	// that only ever proxy.
	New func(*Context[M]) Entity[M]

	// Remember says whether the ids of entities are remembered, so that these start again wherever
	// their shard goes. Default: they are not.
	Remember Remember
	// Reminders say whether entities may set messages for a time (Context.Remind), which survive
	// passivation, moves and a stop of all nodes. Default: they may not.
	Reminders Reminders
	// StateStores are the stores outside of the cluster in which entities keep their state, for nodes to compare, each
	// by its method ID() string, or by its Go type if it has none: a node that hosts entities with others takes no
	// part, because entities would not find their state after a move. Packages eventsourced and durablestate set it.
	// Default: none.
	StateStores []any
	// Passivation says which entities are passivated without asking for it, and how long they may
	// take to stop. Default: those that saw no message for 2 minutes, unless they are remembered;
	// 10 s.
	Passivation Passivation
	// Supervision says what happens to an entity whose handler failed. Default: it restarts if it is
	// remembered, after 100 ms to 10 s, and is stopped otherwise.
	Supervision Supervision
	// Allocation says how the homes of shards are chosen. Default: allocation.LeastShard.
	Allocation Allocation
	// Rebalance says when the balance of shards is looked at. Default: every 10 s.
	Rebalance Rebalance
	// HandOff bounds the phases in which a shard moves. Defaults: 10 s, 60 s, and 10 s for an
	// entity to stop.
	HandOff HandOff
	// Coordination says when shards get their first homes, and how often what was not answered is
	// repeated, and where homes are kept. Defaults: at once, every 2 s, and in replicated data.
	Coordination Coordination
	// Leases names stores outside of the cluster that guard shards and their coordinator beside the
	// views of the membership. Default: none.
	Leases Leases
	// Quorums say of how many replicas the homes and remembered ids must be known, and how long
	// that may take. Default: a majority.
	Quorums Quorums
	// Timeouts are how long the region waits for answers. Defaults: 10 s for an Ask, 3 s for a
	// question about what runs, and 5 s until a handler is told of as slow.
	Timeouts Timeouts
	// Limits bound what the region holds: mailboxes, buffers, questions, workers.
	Limits Limits

	// OnEvent hears of what happens to the type on this node: a Drop for each message that is lost, a
	// Failure for each handler that fails, and an Event for what the control plane notes, such as
	// moves and alarms. What it hears of waits for it: it must be quick, and must not tell. It may be
	// called by several goroutines at a time. A panic in it is logged and counted (Stats.Panics).
	// Failures reach the log in any case, and an Event the log and ddata.Config.OnEvent. Optional.
	OnEvent events.Listener
}

// supervisor is what the data plane does about failures.
func (t EntityType[M]) supervisor() entities.Supervisor {
	s := entities.Supervisor{Supervision: t.Supervision, Default: Stop, OnEvent: t.OnEvent}
	if t.Remember.Entities {
		s.Default = Restart
	}
	return s
}

// machines is what the machines of the type need to know.
func (t EntityType[M]) machines(p Ports) protocol.Config {
	c := protocol.Config{
		Identity: t.Identity,
		Proxy:    p.State == nil || p.Proxy, Local: p.Local,
		HandOff: t.HandOff, Rebalance: t.Rebalance, Allocation: t.Allocation,
		Coordination: protocol.Coordination[bool]{
			Ledger: t.Coordination.Ledger != nil, MinRegions: cmp.Or(t.Coordination.MinRegions, p.MinRegions),
			RetryInterval: t.Coordination.RetryInterval,
		},
		Remember: protocol.Remember[protocol.StoreID]{
			Entities: t.Remember.Entities, Store: lease.StoreID(t.Remember.Store),
			Recovery: t.Remember.Recovery, RestartBackoff: t.Remember.RestartBackoff,
		},
		Reminders: t.Reminders.Enabled, ReminderStore: lease.StoreID(t.Reminders.Store), Passivation: t.Passivation,
		StateStore: lease.StoreIDs(t.StateStores),
		Leases: protocol.Leases[protocol.StoreID]{
			Shards: lease.StoreID(t.Leases.Shards), Coordinator: lease.StoreID(t.Leases.Coordinator),
			Announced: t.Leases.Announced, RetryInterval: t.Leases.RetryInterval,
		},
		Turns: &protocol.Turns{}, Predecessor: p.Predecessor,
	}
	if p.Cluster != nil {
		c.Self = p.Cluster.UID()
	}
	return c.WithDefaults()
}
