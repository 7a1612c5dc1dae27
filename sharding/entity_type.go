package sharding

import (
	"time"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/dataplane"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember"
)

// EntityType describes one kind of entity. Name, Role, Shards, Hash, RememberEntities,
// RememberStore, Messages, Lease and CoordinatorLease must be the same on every node of the role;
// Strategy and what it is given should be, for any of them may run the coordinator. The zero value
// of a field that is not required stands for its default.
type EntityType[M any] struct {
	// Name is unique in the cluster; 1 to 128 bytes of UTF-8 without '/'.
	Name string
	// Role: the nodes that may host entities. Required. On a node without it the region is a proxy.
	Role string
	// Shards is the number of shards, 1 to 1,000,000; it cannot change while the cluster runs. Ten
	// times the largest number of nodes is a good choice: fewer spread unevenly, more cost the
	// coordinator. Default 100.
	Shards int
	// Hash is how ids are spread over the shards; the same on every node, and as long as the data.
	// Default HashXX. A node whose Shards or Hash differ from the coordinator's takes no part: both
	// say so with an alarm (protocol.TypeMismatch).
	Hash protocol.Hash
	// RememberEntities keeps the ids of started entities in the durable space: they are started
	// again wherever their shard goes, also after a restart of the whole cluster. It turns
	// automatic passivation off; an entity ends by Passivate. The same on every node of the role:
	// one that differs takes no part, as with other Shards.
	RememberEntities bool
	// RememberStore keeps the ids of remembered entities outside of the cluster; each type has its
	// own. All nodes of the role give the same, proxies on them too. Default: the durable space of
	// the role's replicated data.
	RememberStore remember.Store
	// StateStoreMode: DData is the only one.
	StateStoreMode StateStoreMode
	// State says of how many nodes the homes and remembered ids must be known, and how long that
	// may take. Default: a majority.
	State StateSettings
	// Messages says which concrete types travel, and how. Required: CBOR[M](examples…).
	Messages Codec[M]
	// Errors are those that reach an asker as themselves when a handler answers or fails with one
	// of them: errors.Is finds them, on whatever node the entity is. They travel by their texts, so
	// each has its own. Of other errors only the text arrives, under ErrHandler. Optional.
	Errors []error
	// New makes an entity; it runs on a worker, before the first message. Required, except on nodes
	// that only ever proxy.
	New func(*Context[M]) Entity[M]

	// Supervision of failed handlers. Default: restart if remembered, stop otherwise.
	Supervision Supervision
	// RestartBackoff is the first pause before a restart, doubled per failure in a row up to
	// RestartBackoffMax. Defaults 100 ms and 10 s.
	RestartBackoff, RestartBackoffMax time.Duration
	// Passivation says which entities are passivated without asking for it: those that are idle, or
	// too many. Default: those that saw no message for 2 minutes. If entities are remembered only
	// its StopTimeout counts.
	Passivation passivation.Strategy
	// AskTimeout bounds an Ask whose context has no deadline. Default 10 s.
	AskTimeout time.Duration
	// HandlerSlowAfter: a handler that has run for so long is told of by the alarm
	// protocol.HandlerSlow, with its entity, its age and its stack; again whenever its age has
	// doubled. The stacks of all goroutines are read for that, which stops the process for some
	// milliseconds. Default 5 s, 1 ms at least; negative: never.
	HandlerSlowAfter time.Duration
	// QueryTimeout is how long one node is waited for that was asked for what runs there
	// (Region.State, ClusterStats, Where …), if the context allows as much. Default 3 s.
	QueryTimeout time.Duration
	// StopTimeout: a handler that has not returned this long after its shard was told to stop
	// aborts the hand-off. Default 10 s.
	StopTimeout time.Duration

	// Strategy chooses the homes of shards: one of package allocation, or any other implementation.
	// It is called where it can hold nothing up and break nothing. It must be the same on every
	// node of the role. Default: allocation.LeastShard with its defaults.
	Strategy allocation.Strategy
	// StrategyTimeout is how long a Strategy of one's own may think before LeastShard answers in
	// its place. Default 5 s.
	StrategyTimeout time.Duration
	// MinRegions is the number of regions that must be there before the first shard gets a home.
	// Nodes that die later do not bring the wait back. Default 1.
	MinRegions int
	// RebalanceInterval is the time between two looks at the balance. Default 10 s, 100 ms on a
	// node with ddata.Local; negative = never.
	RebalanceInterval time.Duration
	// RebalanceDelay is how long the members must have been the same before the balance is looked
	// at. In a rolling restart, a little more than the time from one node to the next keeps shards
	// from being moved to each that has come back while the next one is about to leave; what loses
	// its home gets a new one at once all the same. Default 0.
	RebalanceDelay time.Duration
	// RebalanceMixedVersions has the balance looked at also while nodes run several app versions.
	// Default false: what moved to an old one would have to move again.
	RebalanceMixedVersions bool
	// RebalanceUnreachable has the balance looked at also while a member is unreachable. Default
	// false: hand-offs wait for it until they are aborted.
	RebalanceUnreachable bool
	// RebalanceJoining has the balance looked at also while a member is joining. Default false: it
	// will want its share at once.
	RebalanceJoining bool
	// RetryInterval is the longest pause between two repetitions of what another node has not
	// answered. Default 2 s, 100 ms on a node with ddata.Local.
	RetryInterval time.Duration
	// BeginTimeout and HandOffTimeout bound the two phases of a hand-off; past them it is aborted
	// and the shard stays. Defaults 10 s and 60 s.
	BeginTimeout, HandOffTimeout time.Duration
	// Recovery says how fast shards that start somewhere start the entities that they remember:
	// protocol.RecoverAll, the default, or protocol.RecoverConstant, five every 100 ms, or other
	// numbers. It holds for all shards of the type on a node together. An entity for which a
	// message comes does not wait for its turn.
	Recovery protocol.Recovery
	// EntityRestartBackoff is the pause before a remembered entity that ended without being
	// passivated is started again, if no message comes for it. Default 10 s.
	EntityRestartBackoff time.Duration

	// Lease is a store outside of the cluster in which each shard takes a lease before it starts,
	// and which it gives back when it has ended: a guard beside the views of the membership, for
	// clusters that may be split by an operator's mistake, or founded twice. The same store on
	// every node of the role: a node with another, or none, takes no part, as with other Shards.
	// While another holds a shard's lease the shard waits, and so do its messages, in the buffer.
	// One that is lost stops the shard at once: its handlers' contexts end, their effects are
	// refused, and what its mailboxes held is dropped with DropLeaseLost. Default: none.
	Lease locks.Store
	// CoordinatorLease is a store in which the type's coordinator takes a lease before it acts; it
	// steps down when that is lost. It may be the store of Lease, and is the same on every node of
	// the role, as that is. Default: none.
	CoordinatorLease locks.Store
	// LeaseRetryInterval is the longest pause between two tries to get a lease that another holds,
	// and the one before the first after it was lost; an eighth of it is the first between two
	// tries, and each is twice as long as the one before. Default 5 s, 100 ms on a node with
	// ddata.Local.
	LeaseRetryInterval time.Duration

	// MailboxMax is the number of messages that wait in one mailbox. A worker takes all that waits
	// at once, and as many can come while it works, so a mailbox holds up to twice as many. Default
	// 100,000.
	MailboxMax int
	// MailboxBytes bounds the messages of other nodes that wait in one mailbox or are being
	// handled, in bytes as encoded, each with 128 more. A mailbox that holds none takes one of any
	// size. What finds no room is dropped with DropMailboxBytes, and an asker gets ErrBufferFull at
	// once: a connection that waited for one entity would hold up all others. More lets bursts to
	// one entity through and costs memory. Default 32 MiB, at most 1 GiB.
	MailboxBytes int
	// RegionBytes bounds the same in all mailboxes of this region; the drop is DropRegionFull.
	// LimitMailboxes bounds all regions of a node. Default 256 MiB.
	RegionBytes int
	// BufferMax is the number of messages that wait in this region for homes that are unknown or
	// moving. Default 100,000.
	BufferMax int
	// BufferBytes bounds the same by size, counting messages from other nodes as encoded. Default
	// 64 MiB.
	BufferBytes int
	// AsksMax is the number of this region's questions under way. Default 65,536, at most 16 Mi.
	AsksMax int
	// Workers is the number of handlers that run at one time while none of them blocks. Default
	// GOMAXPROCS.
	Workers int
	// WorkersMax bounds the goroutines when handlers block. Default 10,000.
	WorkersMax int

	// OnDrop is called for every dropped message, and what dropped it waits: it must be quick and
	// must not tell. A panic in a hook is logged and counted (Stats.Panics). Optional.
	OnDrop func(Drop)
	// OnFailure is called for every failure of a handler, whose worker waits. Optional; failures
	// are logged in any case.
	OnFailure func(Failure)
	// OnEvent is called for what the control plane notes: moves, alarms. It must be quick, and may
	// be called from two goroutines at a time. Optional; ddata.Config.EventListener.Any gets them
	// too, as Event, and so does the log.
	OnEvent func(protocol.Event)
}

// Failure is one failed handler.
type Failure struct {
	Type, ID string
	Err      error       // what Receive returned, or the panic as an error
	Stack    []byte      // of a panic
	Outcome  Supervision // what was done about it
}

// nameMax is how many bytes a name has.
const nameMax = 128

func (t EntityType[M]) withDefaults() EntityType[M] {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	num := func(n *int, v int) {
		if *n == 0 {
			*n = v
		}
	}
	num(&t.Shards, 100)
	def(&t.RestartBackoff, 100*time.Millisecond)
	def(&t.RestartBackoffMax, 10*time.Second)
	def(&t.AskTimeout, 10*time.Second)
	def(&t.HandlerSlowAfter, 5*time.Second)
	def(&t.QueryTimeout, defaultQueryTimeout)
	def(&t.StopTimeout, 10*time.Second)
	num(&t.MailboxMax, 100_000)
	num(&t.MailboxBytes, dataplane.DefaultMailboxBytes)
	num(&t.RegionBytes, dataplane.DefaultRegionBytes)
	num(&t.BufferMax, 100_000)
	num(&t.BufferBytes, 64<<20)
	num(&t.AsksMax, 1<<16)
	num(&t.WorkersMax, 10_000)
	if t.Supervision == SuperviseDefault {
		t.Supervision = SuperviseStop
		if t.RememberEntities {
			t.Supervision = SuperviseRestart
		}
	}
	if t.RememberEntities {
		t.Passivation = passivation.Strategy{None: true, StopTimeout: t.Passivation.StopTimeout}
	}
	t.Passivation = t.Passivation.WithDefaults()
	t.State = t.State.withDefaults()
	return t
}
