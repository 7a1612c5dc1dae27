package protocol

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/sharding/allocation"
)

// Inputs are printable values. One type may be an input of several machines.
type (
	// CoordinatorInput is an input of the Coordinator.
	CoordinatorInput interface{ coordinatorInput() }
	// RegionInput is an input of the Region.
	RegionInput interface{ regionInput() }
	// ShardInput is an input of the Shard.
	ShardInput interface{ shardInput() }
)

// Inputs of several machines.
type (
	// Tick says that the deadline has come.
	Tick struct{}
	// Install is a new view of the membership. The view must not be changed any more. For
	// Coordinator and Region.
	Install struct{ View *view.View }
	// LeaseChanged says whether this node holds its lease. For Coordinator and Region; until told, it
	// is not held.
	LeaseChanged struct{ Held bool }
	// Receive is a message of a peer. For Coordinator and Region, see Message.ToCoordinator.
	Receive struct {
		From UID
		Msg  Message
	}
	// TableChanged brings the entries of the table of homes that have changed. For Coordinator and
	// Region. Order and repetition do not matter.
	TableChanged struct{ Entries []Entry }
	// Wrote completes a StateWrite. For Coordinator and Shard.
	Wrote struct {
		ID  uint64
		Err error
	}
	// DidRead completes a StateRead. For Coordinator and Shard. What was read stands in the field
	// of its kind.
	DidRead struct {
		ID      uint64
		Err     error
		Homes   []Entry
		Regions []UID
		Shards  []ShardID
		IDs     []EntityID

		Locations []Location
	}
)

// Inputs of the Coordinator.
type (
	// Reachable reports whether this node can reach a member. All are reachable until said
	// otherwise.
	Reachable struct {
		UID UID
		OK  bool
	}
	// RememberedChanged brings shards that appeared in the set of shards with remembered ids.
	RememberedChanged struct{ Shards []ShardID }
	// LocationsChanged brings what changed in the locations that an outside client wants.
	LocationsChanged struct {
		Put     []Location
		Removed []ShardID
	}
	// Advised answers a Consultation.
	Advised struct{ Advice allocation.Advice }
	// BalanceNow says that an operator wants the balance looked at now, whenever the next look is due.
	BalanceNow struct{}
	// Resign says that this node is about to say that it has stopped: it coordinates no more, and
	// gives its lease back, so that the next coordinator finds that free.
	Resign struct{}
)

// Inputs of the Region.
type (
	// LinkUp says that the data lanes to a peer are up again after having been down.
	LinkUp struct{ Peer UID }
	// Wanted says that the shard's buffer, empty until then, has got a message.
	Wanted struct{ Shard ShardID }
	// Misrouted says that a message for the shard came from a peer whose route is wrong; the
	// runtime has forwarded or buffered it.
	Misrouted struct {
		From  UID
		Shard ShardID
	}
	// Measured brings the loads of hosted shards, as measured for a while that has just ended.
	Measured struct {
		Period time.Duration
		Shards []ShardLoad
	}
	// Leave asks to give all shards away; the effect Left says that it is done.
	Leave struct{}
	// Quit ends everything here by force, when Leave has taken too long; the effect Left says that
	// nothing runs any more.
	Quit struct{}
	// Dropped says that this node is no member any more: everything stops at once.
	Dropped struct{}
	// ShardWaits says that the shard waits for its lease, and may do so for long. From the Shard.
	ShardWaits struct{ Shard ShardID }
	// ShardLeased takes ShardWaits back: the lease was granted, and the shard loads what it
	// remembers. From the Shard.
	ShardLeased struct{ Shard ShardID }
	// ShardUnable says that the store of the shard's lease cannot be used from here, each time that
	// it was tried. From the Shard.
	ShardUnable struct{ Shard ShardID }
	// ShardLost says that the shard has lost its lease and ends at once. From the Shard.
	ShardLost struct{ Shard ShardID }
	// ShardStarted says that the shard can deliver. From the Shard.
	ShardStarted struct{ Shard ShardID }
	// ShardDrained says that the mailboxes of the shard are empty. From the Shard.
	ShardDrained struct {
		Shard   ShardID
		HandOff Token
	}
	// ShardStopped says that nothing of the shard runs any more and that its writes are done. From
	// the Shard.
	ShardStopped struct {
		Shard   ShardID
		HandOff Token
	}
)

// Inputs of the Shard.
type (
	// Open starts the shard. If it has a lease it asks for that when Wait has passed.
	Open struct{ Wait time.Duration }
	// Wake says that a message waits for an entity that is not active. Repeating it does no harm.
	Wake struct{ ID EntityID }
	// StartEntity starts an entity without a message; Req is replied when it is active (and
	// remembered). A Req of 0 wants no reply.
	StartEntity struct {
		ID  EntityID
		Req uint64
	}
	// Passivate asks to stop an entity and to forget its id.
	Passivate struct {
		ID    EntityID
		Cause Cause
	}
	// StartedElsewhere completes a ForwardStart: of its entities these run in their new shards, or
	// are remembered there. It comes for each, with none if none could be started. For Shard and
	// Coordinator.
	StartedElsewhere struct{ IDs []EntityID }
	// Unlisted says that the shard has vanished from the set of shards with remembered ids, by
	// whomever.
	Unlisted struct{}
	// EntityStopped says that the entity has ended: no handler of it runs, none will.
	EntityStopped struct{ ID EntityID }
	// IDsChanged brings what appeared in and vanished from the remembered ids of the shard, by
	// whomever.
	IDsChanged struct{ Added, Removed []EntityID }
	// Drain asks to empty all mailboxes; nothing new arrives any more.
	Drain struct{ HandOff Token }
	// MailboxesEmpty answers the action DrainMailboxes.
	MailboxesEmpty struct{ HandOff Token }
	// Stop asks to stop all entities.
	Stop struct {
		HandOff Token
		Force   bool // without StopTimeout
	}
	// Resume takes Drain or Stop back: the hand-off was aborted.
	Resume struct{}
)

func (Tick) coordinatorInput()              {}
func (Tick) regionInput()                   {}
func (Tick) shardInput()                    {}
func (Install) coordinatorInput()           {}
func (Install) regionInput()                {}
func (LeaseChanged) coordinatorInput()      {}
func (LeaseChanged) regionInput()           {}
func (Receive) coordinatorInput()           {}
func (Receive) regionInput()                {}
func (TableChanged) coordinatorInput()      {}
func (TableChanged) regionInput()           {}
func (Wrote) coordinatorInput()             {}
func (Wrote) shardInput()                   {}
func (DidRead) coordinatorInput()           {}
func (DidRead) shardInput()                 {}
func (Reachable) coordinatorInput()         {}
func (RememberedChanged) coordinatorInput() {}
func (LocationsChanged) coordinatorInput()  {}
func (Advised) coordinatorInput()           {}
func (BalanceNow) coordinatorInput()        {}
func (Resign) coordinatorInput()            {}
func (Measured) regionInput()               {}
func (LinkUp) regionInput()                 {}
func (Wanted) regionInput()                 {}
func (Misrouted) regionInput()              {}
func (Leave) regionInput()                  {}
func (Quit) regionInput()                   {}
func (StopShards) regionInput()             {}
func (Dropped) regionInput()                {}
func (ShardWaits) regionInput()             {}
func (ShardLeased) regionInput()            {}
func (ShardUnable) regionInput()            {}
func (ShardLost) regionInput()              {}
func (ShardStarted) regionInput()           {}
func (ShardDrained) regionInput()           {}
func (ShardStopped) regionInput()           {}
func (Open) shardInput()                    {}
func (Wake) shardInput()                    {}
func (StartEntity) shardInput()             {}
func (Passivate) shardInput()               {}
func (EntityStopped) shardInput()           {}
func (StartedElsewhere) shardInput()        {}
func (StartedElsewhere) coordinatorInput()  {}
func (Unlisted) shardInput()                {}
func (IDsChanged) shardInput()              {}
func (Drain) shardInput()                   {}
func (MailboxesEmpty) shardInput()          {}
func (Stop) shardInput()                    {}
func (Resume) shardInput()                  {}
