package options

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// Options are one swarm: each is drawn from the seed, many are off in most seeds, so that rare
// combinations come up often.
type Options struct {
	Swarm    string // the plan's
	Scenario string // what the chaos plays: "chaos", or one of the scripted worst cases
	Defect   string // the planted defect

	Nodes  int           // processes at the start, all voters
	Spare  int           // further slots, for joins
	Roles  [][]string    // of the nodes of each slot; nil: all are of the backend
	Safety time.Duration // how long chaos lasts
	// Liveness is how long the healed world may take until every checker is content; what package
	// stall has limits for may take as long as those.
	Liveness   time.Duration
	CheckEvery int // see Plan
	FaultsMax  int // see Plan
	Inserts    int // see Plan

	Loss, Duplicate, Straggle float64       // per packet of the control lane
	DelayMin, DelayMean       time.Duration // of every packet
	ClockDrift                float64       // largest deviation of a clock's rate
	Extreme                   bool          // each clock deviates by as much
	WallSkew                  time.Duration // largest deviation of wall time
	Lag                       time.Duration // of views on single links at most; 0: none lags
	DiskMin, DiskMax          time.Duration // of a commit
	DiskFail                  float64       // per commit
	Torn                      float64       // part of the ends of processes that commit some of what waits
	// Bad is the slot, counted from 1, whose disk tears batches and lies about having written; 0:
	// none.
	Bad int

	ChaosMin, ChaosMax time.Duration   // between two faults of chaos
	Weights            [FaultKinds]int // of each kind of fault

	Timing   Timing           // the time-outs of all nodes
	Strategy downing.Strategy // the downing strategy of all nodes
	// VotersMax is how many of the oldest nodes vote on views; 0: all.
	VotersMax int

	WriteGap time.Duration // mean time between two operations of all clients together
	Reads    float64       // part of them that reads
	Linear   float64       // part of the reads that is linearizable
	Removes  float64       // part of the writes to sets that removes
	Sums     float64       // part of the writes that counts; 0: a quarter
	Keys     int           // of each kind
	Durable  bool          // half of the writes go to durable keys
	Owned    float64       // part of the operations that is on what belongs to nodes
	Fleeting float64       // part that is on keys that expire
	Final    float64       // part that is on keys that are permanently deleted
	LogMax   int           // events that a replica keeps; 0 the default
	// BacklogMax is how many bytes a replica may be behind before writers wait; 0 the default.
	BacklogMax int
	FrameMax   int // of the Replicator; 0 the default
	// part of the additions to sets that puts large elements in one group, which is larger than a
	// frame
	Bulk float64
	// BatchRows is above how many rows a batch goes to the disk in parts, and how many items one step
	// of a repair takes over; 0 the defaults.
	BatchRows int
	// WeakSketch makes the sketches of repairs mix up dots, so that they must find out and take
	// other ways.
	WeakSketch bool
	// ExpireAfter is the time of keys that expire.
	ExpireAfter time.Duration
	// Timeout is that of operations; 0 the default.
	Timeout time.Duration
	// WriteBehind spaces out the Replicator's commits.
	WriteBehind time.Duration
	// PromptLossy sends the Replicator's prompt messages on the lossy lane.
	PromptLossy bool

	Shards      int                // of each entity type; 0: no sharding in this world
	EntityTypes int                // their number
	Remember    bool               // the first type remembers its entities
	VolatileIDs bool               // and no disk has their ids
	Asks        float64            // part of the bursts that asks
	Fails       float64            // part of the messages whose handler fails
	Panics      float64            // or panics
	Hangs       float64            // or waits until its context ends
	Awaits      float64            // part of the handlers that wait for a result (Context.Await)
	Late        float64            // part of the questions that are answered later
	Directive   sharding.Directive // for handlers that fail
	LaneMax     int                // bytes that wait for a connection of the Data lane
	TellGap     time.Duration      // mean time between two bursts of messages to entities
	Rebalance   time.Duration      // how often a coordinator looks at the balance
	StopTimeout time.Duration      // of an entity
	// RebalanceDelay is how long the members must have been the same before a coordinator looks at
	// the balance.
	RebalanceDelay time.Duration
	Allocation     allocation.Strategy // chooses the homes of shards
	// Consulted has it asked beside the coordinator, as a strategy of a user's that is slow and
	// misbehaves.
	Consulted bool
	Proxy     bool // one node routes and never hosts
	// ActiveLimit is how many entities of a type that remembers none may be active on a node at
	// first; 0: any number, for good.
	ActiveLimit int
	Passivation passivation.Strategy // says which entity goes when there are more
	// IdleTimeout is the time without a message after which entities are passivated; 0: none are.
	IdleTimeout time.Duration
	Limits      sharding.Limits // of what regions hold
	// LateTypes is how much later than their process some of its entity types are started at most; 0:
	// none is.
	LateTypes time.Duration
	// LackTypes: what runs on some processes is a version without some of the types. These are started
	// there when the world has healed.
	LackTypes bool
	// RetireAfter is how many incarnations come between two retirements; 0: the default.
	RetireAfter int
	// Builds: processes are of several builds, which speak different format levels.
	Builds bool
	// StopsShards: an operator stops shards for good, and nothing is sent to them for a while.
	StopsShards bool
	// ShardLeases and CoordLeases: shards and coordinators take leases in a store outside of the
	// cluster.
	ShardLeases, CoordLeases bool
	// after which a process that is not heard of loses them; 0: they last as long as it
	LeaseTTL   time.Duration
	LeaseRetry time.Duration // the pause between two tries
	NewKeys    KeyStages     // which keys become durable, in order of time
	// Calm: nothing breaks in this world, nodes only join and leave. Every message must then be
	// handled, in the order of its sender.
	Calm bool

	FalseHints bool // memberlist lies

	Persisted Persisted // entities that keep their state
	Reminded  Reminded  // entities that set reminders
	Delivered Delivered // entities to which producers deliver
	Ledger    Ledger    // where homes and remembered ids lie

	Script *workload.Script // nil: the world is drawn
}

// SmallFrame is a FrameMax that much does not fit in; DefaultFrame is the replicator's default.
const (
	SmallFrame   = 600
	DefaultFrame = 64 << 10
)

// EntitiesPerShard is how many entities the clients know, for each shard on average.
const EntitiesPerShard = 3

// Budget is how many shards a strategy may begin to move at a time for balance. It is for the
// strategies that bound that number.
func (o *Options) Budget() int {
	part := func(absolute int, relative float64) int {
		return max(1, min(cmp.Or(absolute, 20), int(cmp.Or(relative, 0.1)*float64(o.Shards))))
	}
	switch s := o.Allocation.(type) {
	case allocation.LeastShard:
		return part(s.RebalanceAbsoluteLimit, s.RebalanceRelativeLimit)
	case allocation.LoadAware:
		return part(s.RebalanceAbsoluteLimit, s.RebalanceRelativeLimit)
	case allocation.Threshold:
		return cmp.Or(s.MaxSimultaneousRebalance, 3)
	case allocation.ConsistentHashing:
		return cmp.Or(s.RebalanceLimit, o.Shards)
	}
	return o.Shards
}

// DurableKeys are the patterns of keys that are durable on every process.
func DurableKeys(o *Options) []string {
	if o.VolatileIDs {
		return []string{"d/*"}
	}
	return []string{"d/*", "sharding/*/ids/*", "reminders/*"}
}

func (o Options) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s nodes=%d+%d safety=%v loss=%g dup=%g straggle=%g delay=%v+%v drift=%g/%v skew=%v disk=%v+%v "+
		"fail=%g", o.Scenario, o.Nodes, o.Spare,
		o.Safety, o.Loss, o.Duplicate, o.Straggle, o.DelayMin, o.DelayMean, o.ClockDrift, o.Extreme,
		o.WallSkew, o.DiskMax,
		o.WriteBehind, o.DiskFail)
	fmt.Fprintf(&b, " timing=%v write=%v keys=%d durable=%v removes=%g reads=%g linear=%g log=%d backlog=%d "+
		"shards=%dx%d remember=%v builds=%v", o.Timing,
		o.WriteGap, o.Keys, o.Durable, o.Removes, o.Reads, o.Linear, o.LogMax, o.BacklogMax, o.EntityTypes, o.Shards,
		o.Remember, o.Builds)
	if o.Remember && o.VolatileIDs {
		b.WriteString(" volatile-ids")
	}
	if o.Roles != nil {
		fmt.Fprintf(&b, " roles=%v", o.Roles)
	}
	if o.Lag > 0 {
		fmt.Fprintf(&b, " lag=%v", o.Lag)
	}
	if o.Torn > 0 {
		fmt.Fprintf(&b, " torn=%g", o.Torn)
	}
	if o.Bad > 0 {
		fmt.Fprintf(&b, " bad=n%d", o.Bad-1)
	}
	fmt.Fprintf(&b, " downing=%q", o.Strategy.String())
	if o.Shards > 0 {
		fmt.Fprintf(&b, " %T consulted=%v", o.Allocation, o.Consulted)
	}
	if o.RebalanceDelay > 0 {
		fmt.Fprintf(&b, " rebalance after %v", o.RebalanceDelay)
	}
	if o.HasLeases() {
		fmt.Fprintf(&b, " leases of shards=%v coordinators=%v ttl=%v", o.ShardLeases, o.CoordLeases, o.LeaseTTL)
	}
	if o.ActiveLimit > 0 {
		fmt.Fprintf(&b, " active=%d %v", o.ActiveLimit, o.Passivation.Replacement)
	}
	if o.IdleTimeout > 0 {
		fmt.Fprintf(&b, " idle=%v", o.IdleTimeout)
	}
	if o.Limits.MailboxMax > 0 {
		fmt.Fprintf(&b, " limits=%+v", o.Limits)
	}
	if o.VotersMax > 0 {
		fmt.Fprintf(&b, " voters=%d", o.VotersMax)
	}
	if o.Owned+o.Fleeting+o.Final > 0 {
		fmt.Fprintf(&b, " owned=%g fleeting=%g after %v final=%g", o.Owned, o.Fleeting, o.ExpireAfter, o.Final)
	}
	if o.WeakSketch {
		fmt.Fprint(&b, " weak-sketch")
	}
	if o.Bulk > 0 || o.BatchRows > 0 {
		fmt.Fprintf(&b, " bulk=%g frame=%d batch=%d", o.Bulk, o.FrameMax, o.BatchRows)
	}
	fmt.Fprintf(&b, "%v%v%v%v chaos=[", o.Persisted, o.Reminded, o.Delivered, o.Ledger)
	for i, n := range o.Weights {
		if n > 0 {
			fmt.Fprintf(&b, " %v:%d", Fault(i), n)
		}
	}
	b.WriteString(" ]")
	if o.Defect != "" {
		fmt.Fprintf(&b, " DEFECT=%s", o.Defect)
	}
	return b.String()
}
