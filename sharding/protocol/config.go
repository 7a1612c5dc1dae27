package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/proptest/defect"
)

// Config is what the three machines of one entity type need to know. Identity, Remember.Entities,
// Reminders and the stores of Leases must be the same on every node. The zero value of every field but Name and
// Self stands for its default.
type Config struct {
	// Identity is what makes the type the same on every node. Without a Role every member has it.
	Identity
	// Self is this node. Required.
	Self UID
	// Proxy says that this node's region routes and never hosts: the node lacks the role, or was
	// told so.
	Proxy bool
	// Local says that the node runs with ddata.Local, which shortens the defaults of intervals.
	Local bool

	// HandOff bounds the phases in which a shard moves.
	HandOff HandOff
	// Rebalance says when the coordinator looks at the balance of shards.
	Rebalance Rebalance
	// Allocation says how the homes of shards are chosen.
	Allocation Allocation
	// Coordination says how regions and their coordinator get on.
	Coordination Coordination[bool]
	// Remember says whether the ids of entities are remembered, and how remembered ones start.
	Remember Remember[StoreID]
	// Reminders says that shards are started with no traffic when they have reminders, and that none is
	// stopped for good.
	Reminders bool
	// ReminderStore names the store of reminders outside of the cluster.
	ReminderStore StoreID
	// StateStore names the stores outside of the cluster in which entities keep their state.
	StateStore StoreID
	// Passivation says which entities are passivated. The machines look at its StopTimeout only.
	Passivation Passivation
	// Leases names the stores in which leases are taken.
	Leases Leases[StoreID]

	// Turns is shared by the shards of one region, so that Remember.Recovery holds for all of them
	// together. Default: each has its own.
	Turns *Turns

	// Predecessor is what holds for the type on this node from before: what its Region and its
	// Coordinator, or its NotStarted, said last.
	Predecessor Predecessor

	planted
}

// planted is the errors that a test has planted.
type planted = defect.Set

// Bounds of what is configured, sent and written at once.
const (
	ShardsMax = 1 << 20 // shards of a type
	nameMax   = 128     // bytes of a type's name
	StoreMax  = 128     // bytes of the ID of a store of leases

	strategyNameMax = 128 // bytes of the name of a Strategy

	BatchMax = 4096 // shards per message and per write of the table

	ForwardMax = 1024    // ids forwarded at once
	MovesMax   = 1 << 16 // hand-offs told to a new region at once
	RegionsMax = 1 << 16 // regions in one message
)

// SlowAfter is how long a read or a write may take before it is told of; it goes on.
const SlowAfter = 5 * time.Second

// ErrConfig: the Config is incomplete or out of bounds; the message lists every fault.
var ErrConfig = errors.New("sharding/protocol: invalid config")

// WithDefaults is c with the default in place of each zero field that has one.
func (c Config) WithDefaults() Config {
	c.Identity.setDefaults()
	c.HandOff.setDefaults()
	c.Rebalance.setDefaults(c.Local)
	c.Allocation.setDefaults()
	c.Coordination.setDefaults(c.Local)
	c.Remember.setDefaults()
	c.Passivation.setDefaults(c.Remember.Entities)
	c.Leases.setDefaults(c.Local)
	if c.Turns == nil {
		c.Turns = &Turns{}
	}
	return c
}

// Validate reports every fault together; zero fields are taken as their defaults.
func (c Config) Validate() error {
	faults := c.Faults()
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w %q: %w", ErrConfig, c.Name, faults.Err(""))
}

// Faults is what Validate reports, each by its field's name.
func (c Config) Faults() config.Faults {
	var f config.Faults
	d := c.WithDefaults()
	d.Identity.check(&f)
	f.Add(c.Self == 0, "Self", "is missing")
	d.HandOff.check(&f, d.Coordination.RetryInterval)
	d.Rebalance.check(&f)
	d.Allocation.check(&f)
	d.Coordination.check(&f)
	d.Remember.check(&f)
	c.Passivation.check(&f)
	d.Leases.check(&f)
	d.Remember.Store.check(&f, "Remember.Store")
	d.ReminderStore.check(&f, "Reminders.Store")
	d.StateStore.check(&f, "StateStores")
	checkLeases(&f, d.Leases)
	return f
}

// ShardsTakeLeases reports whether a shard takes a lease before it starts.
func (c Config) ShardsTakeLeases() bool { return c.Leases.Shards.Given() && !c.Leases.Announced }

// CoordinatorTakesLease reports whether a coordinator takes one before it acts.
func (c Config) CoordinatorTakesLease() bool {
	return c.Leases.Coordinator.Given() && !c.Leases.Announced
}

// NeedsHomes reports whether a shard may have to run although no message asks: its entities are
// remembered, or have reminders.
func (c Config) NeedsHomes() bool { return c.Remember.Entities || c.Reminders }
