package protocol

import (
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
)

// CoordinatorEffects is what one Step of a Coordinator asks for, to be carried out in the order of
// the fields. It is valid until the next Step.
type CoordinatorEffects struct {
	Write []StateWrite
	Read  []StateRead
	Lease []LeaseOp // with Config.Leases.Coordinator
	Send  []Envelope
	// Forward are entities to be started through the region; StartedElsewhere completes it.
	Forward []ForwardStart
	// Consult are questions to the strategy, to be asked beside the coordinator: Advised brings the
	// answer, however late.
	Consult []*allocation.Consultation
	Notify  []Event
}

// RegionEffects is what one Step of a Region asks for, to be carried out in the order of the
// fields. It is valid until the next Step.
type RegionEffects struct {
	Do     []RegionAction // in this order
	Send   []Envelope
	Notify []Event
	AtRest []ShardID // after StopShards: these have stopped
	Left   bool      // after Leave: no shard and no message is left here
}

// ShardEffects is what one Step of a Shard asks for. It must be carried out in the order of the
// fields. It is valid until the next Step; the slices of ids within it stay valid.
type ShardEffects struct {
	Write  []StateWrite
	Read   []StateRead
	Lease  []LeaseOp     // with Config.Leases.Shards
	Do     []ShardAction // in this order
	Reply  []uint64      // the requests of StartEntity that are fulfilled
	Region []RegionInput // for the region of this node
	Notify []Event
}

// RegionAction is something that the runtime of a region does.
type RegionAction interface{ regionAction() }

// Actions of a region.
type (
	// SetRoute publishes a route. When it has been carried out no sender of this node acts on an
	// older one. A route that does not buffer opens its fast path only when the buffer is empty:
	// FlushBuffer follows if it is not.
	SetRoute struct {
		Shard ShardID
		Route Route
	}
	// FlushBuffer sends what the shard's buffer holds along its route, in order. Along a local
	// route it does so whole, before the next action; along a remote one it may take its time, and
	// stops where a later SetRoute closes the route again.
	FlushBuffer struct{ Shard ShardID }
	// DropBuffer drops what the shard's buffer holds.
	DropBuffer struct {
		Shard  ShardID
		Reason Reason
	}
	// SendFence appends Fence{Shard, HandOff} to the data lane of the shard to a peer, never this
	// node.
	SendFence struct {
		To      UID
		Shard   ShardID
		HandOff Token
	}
	// StartShard makes a Shard and steps it with Open and that Wait.
	StartShard struct {
		Shard ShardID
		Token Token
		Wait  time.Duration
	}
	// DrainShard steps the Shard with Drain.
	DrainShard struct {
		Shard   ShardID
		HandOff Token
	}
	// StopShard steps the Shard with Stop.
	StopShard struct {
		Shard   ShardID
		HandOff Token
		Force   bool
	}
	// ResumeShard steps the Shard with Resume.
	ResumeShard struct{ Shard ShardID }
	// CloseShard drops the Shard machine, which has stopped.
	CloseShard struct{ Shard ShardID }
	// KillShard ends all entities of the shard by force and drops the Shard machine. If the shard
	// has a lease, it is released when none of its handlers runs and none of its writes is under
	// way any more.
	KillShard struct {
		Shard  ShardID
		Reason Reason
	}
)

func (SetRoute) regionAction()    {}
func (FlushBuffer) regionAction() {}
func (DropBuffer) regionAction()  {}
func (SendFence) regionAction()   {}
func (StartShard) regionAction()  {}
func (DrainShard) regionAction()  {}
func (StopShard) regionAction()   {}
func (ResumeShard) regionAction() {}
func (CloseShard) regionAction()  {}
func (KillShard) regionAction()   {}

// ShardAction is something that the runtime of a shard does.
type ShardAction interface{ shardAction() }

// Actions of a shard.
type (
	// StartEntities makes the entities and opens their mailboxes; what waits in them is delivered.
	// So many of them start only because they are remembered; no message asks for them. So many more
	// that are remembered will follow.
	StartEntities struct {
		IDs                []EntityID
		Remembered, Follow int
	}
	// StopEntity tells the entity to stop after what its mailbox holds; later messages wait for the
	// next incarnation, the first of them with a Wake. EntityStopped follows.
	StopEntity struct {
		ID    EntityID
		Cause Cause
	}
	// ForceStop cancels what the entity is doing and stops it without emptying its mailbox.
	// EntityStopped follows when no handler runs.
	ForceStop struct{ ID EntityID }
	// DrainMailboxes asks for MailboxesEmpty when no message of the shard waits and no handler
	// runs.
	DrainMailboxes struct{ HandOff Token }
	// StopEntities tells all entities to stop. EntityStopped follows for each.
	StopEntities struct{ HandOff Token }
	// ForceStopEntities is ForceStop of all that still run.
	ForceStopEntities struct{ HandOff Token }
	// ForwardStart asks to start entities, whose ids belong to other shards now, through the
	// region; StartedElsewhere completes it.
	ForwardStart struct{ IDs []EntityID }
)

func (StartEntities) shardAction()     {}
func (StopEntity) shardAction()        {}
func (ForceStop) shardAction()         {}
func (DrainMailboxes) shardAction()    {}
func (StopEntities) shardAction()      {}
func (ForceStopEntities) shardAction() {}
func (ForwardStart) shardAction()      {}
