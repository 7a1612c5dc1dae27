package protocol

import "time"

// Message is what machines of different nodes tell each other. All travel on the control lane but
// Fence, which travels on the data lane of its shard.
type Message interface {
	message() kind
	// ToCoordinator says which machine of the receiving node a message is for: the Coordinator or
	// the Region.
	ToCoordinator() bool
	String() string
}

// ShardToken names a shard and the command about it.
type ShardToken struct {
	Shard ShardID
	Token Token
}

// ShardLoad is what was measured of a shard for some time.
type ShardLoad struct {
	Shard       ShardID
	Messages    uint64        // that were handled
	HandlerTime time.Duration // in microseconds, of all handlers together
	Entities    uint32        // that are active
}

// Move is a hand-off: the owner gives the shard up, wherever it goes.
type Move struct {
	Shard   ShardID
	HandOff Token
	Owner   UID
}

// Phase is how far a shard is on the node that hosts it.
type Phase uint8

// Phases of a hosted shard.
const (
	PhaseNone     Phase = iota // not hosted
	PhaseStarting              // commanded, loading its remembered ids
	PhaseRunning               // delivers messages
	PhaseFencing               // a hand-off has begun; fences of other regions are outstanding
	PhaseDraining              // all fences are in; mailboxes are being emptied
	PhaseStopping              // entities are being stopped
	PhaseStopped               // nothing of it runs here any more; the next home is not known yet
)

// Hosted is one shard in a Report.
type Hosted struct {
	Shard   ShardID
	Token   Token // by which command it is hosted; zero when it is not
	Phase   Phase
	Barrier Token // the hand-off for which this region buffers, or did last; zero: none
}

// Messages to the coordinator.
type (
	// Register joins a region, or a proxy that never hosts, to those that the coordinator knows.
	// Joined says that some coordinator has known it before. Answered by Registered, by Refused
	// when the coordinator's settings are not Compatibility, or by Absent.
	Register struct {
		Proxy, Leaving, Joined bool
		Life                   uint32 // which region of the type on its node it is, from 0
		Compatibility          Compatibility
	}
	// Confirm answers Registered: the region of that life knows that it is registered, and asks
	// before it leaves, as one does that has answered Inquire. Only such a region is given shards.
	Confirm struct{ Life uint32 }
	// Compared answers Compare, and an Inquire of another role.
	Compared struct {
		Runs        bool   // the type is started there
		Role        string // under which
		Joined      bool   // a coordinator of that role has known the region
		Coordinator UID    // of that role in its view; 0: none
	}
	// GetHomes asks where shards live; those that live nowhere get a home. Answered by Homes, at
	// once or when a hand-off has ended. With Region set it is for the region of the receiver,
	// which answers what it knows and never allocates.
	GetHomes struct {
		Region bool
		Shards []ShardID
	}
	// Started answers HostShards: the region has taken the shards.
	Started struct{ Shards []ShardToken }
	// BeginAck answers Begin: the sender buffers and has sent its fences.
	BeginAck struct{ Shards []ShardToken }
	// ShardsStopped reports hand-offs whose owner has stopped everything. It is repeated until the
	// next home is known.
	ShardsStopped struct{ Shards []ShardToken }
	// Report answers Inquire, in parts. What a region hosts may change between two answers, so parts
	// of different answers say nothing together.
	Report struct {
		Floor         Token // of the Inquire
		Proxy         bool
		Leaving       bool
		Left          bool // it hosts nothing and never will
		Life          uint32
		Answer        uint32 // which answer of the region this is, from 1
		Part, Parts   uint32
		Compatibility Compatibility
		Shards        []Hosted
	}
	// AbsentReport answers Inquire on a node that has not started the type: it hosts nothing, and
	// what is started there later refuses earlier coordinators.
	AbsentReport struct{ Floor Token }
	// Loads is what the sender has measured of the shards that it hosts, for so long. It may be
	// lost. Of a shard that is not in it nothing has changed, or it was not measured for all of
	// that time.
	Loads struct {
		Period time.Duration // in milliseconds, at most an hour
		Shards []ShardLoad
	}
	// LeaveRequest asks the coordinator to move all shards away from the sender. It is repeated
	// until the answer is Done or Alone. With Left set it says that the region of that life hosts
	// nothing and never will; Closing then says that it stopped because the whole cluster does.
	LeaveRequest struct {
		Left, Closing bool
		Life          uint32
	}
	// Unable says that these shards wait at the sender for leases whose store cannot be used there.
	// It may be lost; it is said again with each try.
	Unable struct{ Shards []ShardID }
	// StopShards asks to stop shards for good: they are handed off without a new home, and get a
	// home again only when a message asks for one. It is repeated until AtRest has come for each.
	// It is also an input of the Region, which then asks.
	StopShards struct{ Shards []ShardID }
)

// Messages to a region.
type (
	// Registered answers Register. The floor refuses commands of earlier coordinators; the moves
	// are hand-offs in progress, to be treated like Begin. Decisions up to Since may have been made
	// without the receiver: a region that joins for the first time must not follow the table up to
	// there, unless the coordinator says the same.
	Registered struct {
		Floor, Since Token
		Life         uint32 // of the Register
		Moves        []Move
	}
	// Refused answers a Register with other settings than the coordinator's, which are these.
	Refused struct{ Compatibility Compatibility }
	// StateFailing answers Register and GetHomes, beside what else does, while the coordinator cannot
	// read or write its state, for SlowAfter by now. Why is for people, at most whyMax bytes. It may
	// be lost; each repetition of the question is answered with it.
	StateFailing struct{ Why string }
	// Homes tells where shards live. It is Sure when it comes from the coordinator, otherwise it is
	// what some region believes.
	Homes struct {
		Sure    bool
		Entries []Entry
	}
	// HostShards commands the receiver to host, or to go on hosting, shards.
	HostShards struct{ Shards []ShardToken }
	// Begin starts hand-offs. Regions are those whose fences an owner must await.
	Begin struct {
		Moves   []Move
		Regions []UID
	}
	// Fence is the last that its sender has put on the data lane for the shard before it began to
	// buffer.
	Fence struct {
		Shard   ShardID
		HandOff Token
	}
	// Inquire asks for everything that the receiver hosts and raises its floor of tokens. Answered
	// by Report, or AbsentReport. A region of another role obeys another coordinator: its floor
	// stays, and it answers Compared.
	Inquire struct {
		Floor Token
		Role  string
	}
	// Compare asks a member without the sender's role under which role it runs the type. Answered
	// by Compared.
	Compare struct{}
	// Absent answers Register on a node where the type does not run: no coordinator acts there.
	Absent struct{}
	// LeaveReply tells a leaving region that it is the home of no shard and will not become one. Or
	// it tells the region that no other region can take its shards, so that it has to stop them
	// itself. It is the word of the coordinator with that floor, and of none after it.
	LeaveReply struct {
		Done, Alone bool
		Life        uint32 // of the LeaveRequest
		Floor       Token
	}
	// AtRest answers StopShards: everything of these shards has stopped, and a majority knows that
	// they have no home, unless messages have asked for one.
	AtRest struct{ Shards []ShardID }
	// Ended answers GetHomes while the whole cluster shuts down: these shards have stopped with
	// their homes and get no other.
	Ended struct{ Shards []ShardID }
)

type kind uint8

// Envelope is one message on its way. To may be the sending node itself; the driver then loops it
// back, never within the same Step.
type Envelope struct {
	To  UID
	Msg Message
}
