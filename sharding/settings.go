package sharding

import (
	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/control"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/dataplane/entities"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
	"github.com/coterie-go/coterie/sharding/remind/agenda"
)

// The settings of an EntityType, by subject. Each is declared where it is obeyed.
type (
	// Identity is what makes an entity type the same on every node of its role.
	Identity = protocol.Identity
	// ShardFunc says which shard an entity id belongs to.
	ShardFunc = protocol.ShardFunc
	// ShardID is the number of a shard: 0 to EntityType.Shards - 1.
	ShardID = protocol.ShardID
	// Remember says whether the ids of entities are remembered, where, and how remembered entities
	// start.
	Remember = protocol.Remember[remember.Store]
	// Recovery says how fast shards start the entities that they remember.
	Recovery = protocol.Recovery
	// Passivation says which entities are passivated without asking for it, and how long they may
	// take to stop.
	Passivation = protocol.Passivation
	// Supervision says what happens to an entity whose handler failed, and how often that may be a
	// restart.
	Supervision = entities.Supervision
	// Allocation says how the homes of shards are chosen.
	Allocation = protocol.Allocation
	// Rebalance says when the coordinator looks at the balance of shards.
	Rebalance = protocol.Rebalance
	// HandOff bounds the phases in which a shard moves.
	HandOff = protocol.HandOff
	// Coordination says how regions and their coordinator get on, and where it keeps its state.
	Coordination = protocol.Coordination[*ledger.Ledger]
	// Leases says in which stores outside of the cluster leases are taken.
	Leases = protocol.Leases[locks.Store]
	// Quorums say of how many replicas the type's own state is read and written.
	Quorums = control.Quorums
	// Reminders say whether entities may set reminders, where these are kept, and how they are handled:
	// Enabled, Store, FiringMax, EntityMax, BackoffMin and BackoffMax. Their meaning stands in agenda.Settings
	// of package sharding/remind/agenda.
	Reminders = agenda.Settings
	// Timeouts are how long a region waits for answers.
	Timeouts = dataplane.Timeouts
	// Limits bound what a region holds.
	Limits = dataplane.Limits
)

// The functions from ids to shards that need no code.
var (
	// XXHash is the 64-bit xxHash of the id, modulo the number of shards. The default.
	XXHash = protocol.XXHash
	// Murmur2 is that of Kafka's default partitioner: an entity's shard is the number of its
	// partition.
	Murmur2 = protocol.Murmur2
)

// All, as Quorums.WritePlus or ReadPlus, asks for every replica.
const All = control.All
