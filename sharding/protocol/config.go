package protocol

import (
	"errors"
	"fmt"
	"time"

	"github.com/coterie-go/coterie/sharding/allocation"
)

// Config is what the three machines of one entity type need to know. Type, Role, Shards and
// Remember must be the same on every node. The zero value of every other field but Self stands for
// its default.
type Config struct {
	// Type is the name of the entity type, unique in the cluster. 1 to 128 bytes without '/'.
	Type string
	// Role is the role of the nodes that may host and coordinate. Default "": every member has it.
	Role string
	// Self is this node. Required.
	Self UID
	// Shards is the number of shards, 1 to 1,048,576. Required.
	Shards int
	// Proxy says that this node's region routes and never hosts: the node lacks the role, or was
	// told so.
	Proxy bool
	// Remember keeps the ids of started entities in the durable space and starts them again without
	// traffic.
	Remember bool
	// Hash maps ids to shards. The same on every node. Default HashXX.
	Hash Hash
	// ShardOf maps ids to shards, to find remembered ids that belong to another shard since the
	// number of shards changed. Default: Hash with Shards.
	ShardOf func(EntityID) ShardID

	// Strategy chooses homes. Default: allocation.LeastShard with its defaults.
	Strategy allocation.Strategy
	// StrategyTimeout is how long a Strategy that is not of package allocation may think before the
	// default answers in its place. Default 5 s.
	StrategyTimeout time.Duration
	// MinRegions is the number of registered regions before the first allocation; once any shard
	// has had a home it asks for none, until the whole cluster restarts. Default 1.
	MinRegions int
	// RebalanceInterval is the time between two looks at the balance. Default 10 s; negative:
	// never.
	RebalanceInterval time.Duration
	// RebalanceDelay is how long the members must have been the same before the balance is looked
	// at. Default 0.
	RebalanceDelay time.Duration
	// RebalanceMixedVersions has the balance looked at also while the regions' nodes run several
	// app versions.
	RebalanceMixedVersions bool
	// RebalanceUnreachable has the balance looked at also while a member is unreachable.
	RebalanceUnreachable bool
	// RebalanceJoining has the balance looked at also while a member is joining.
	RebalanceJoining bool
	// RetryInterval is the longest pause between two repetitions of what was not answered; the
	// first comes after an eighth. Default 2 s.
	RetryInterval time.Duration
	// BeginTimeout bounds the first phase of a hand-off, until all regions buffer; past it the
	// hand-off is aborted. Default 10 s.
	BeginTimeout time.Duration
	// HandOffTimeout bounds the second phase, until the owner has stopped the shard; past it the
	// hand-off is aborted with an alarm. It must leave room for the fences, the mailboxes and
	// StopTimeout twice. Default 60 s.
	HandOffTimeout time.Duration

	// BufferMax is the number of messages that this region buffers for all shards together,
	// enforced by the runtime. Default 100,000.
	BufferMax int

	// StopTimeout is how long an entity may take to stop before it is stopped by force. Default 10
	// s.
	StopTimeout time.Duration
	// PassivationTimeout is the same for an entity that is passivated. Default 10 s.
	PassivationTimeout time.Duration
	// RestartBackoff is the pause before a remembered entity that ended by itself is started again.
	// Default 10 s.
	RestartBackoff time.Duration
	// Lease has each shard take a lease in a store outside of the cluster before it starts.
	Lease bool
	// CoordinatorLease has the coordinator take one before it acts.
	CoordinatorLease bool
	// LeaseStore and CoordinatorLeaseStore are the IDs of the stores, which must be
	// the same on every node of the role. At most 128 bytes of UTF-8; empty: none.
	LeaseStore, CoordinatorLeaseStore string
	// LeaseRetryInterval is the longest pause between two tries to get a lease, and the one before
	// the first after it was lost; an eighth of it is the first between two tries, and each is
	// twice as long as the one before. Default 5 s.
	LeaseRetryInterval time.Duration
	// Recovery says how fast the shards of the region start the entities that they remember.
	// Default RecoverAll.
	Recovery Recovery
	// Turns is shared by the shards of one region, so that Recovery holds for all of them together.
	// Default: each has its own.
	Turns *Turns

	// Predecessor is what holds for the type on this node from before: what its Region and its
	// Coordinator, or its NotStarted, said last.
	Predecessor Predecessor

	// Defects are planted errors; only the simulator's self-test sets it.
	Defects Defects
}

// Bounds of what is configured, sent and written at once.
const (
	ShardsMax = 1 << 20 // shards of a type
	TypeMax   = 128     // bytes of a type's name
	StoreMax  = 128     // bytes of the ID of a store of leases
	BatchMax  = 4096    // shards per message and per write of the table

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
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	def(&c.RebalanceInterval, 10*time.Second)
	def(&c.StrategyTimeout, 5*time.Second)
	def(&c.RetryInterval, 2*time.Second)
	def(&c.BeginTimeout, 10*time.Second)
	def(&c.HandOffTimeout, 60*time.Second)
	def(&c.StopTimeout, 10*time.Second)
	def(&c.PassivationTimeout, 10*time.Second)
	def(&c.RestartBackoff, 10*time.Second)
	def(&c.LeaseRetryInterval, 5*time.Second)
	if c.Recovery.Number > 0 {
		def(&c.Recovery.Interval, RecoverConstant.Interval)
	}
	if c.Turns == nil {
		c.Turns = &Turns{}
	}
	if c.MinRegions == 0 {
		c.MinRegions = 1
	}
	if c.BufferMax == 0 {
		c.BufferMax = 100_000
	}
	if c.Strategy == nil {
		c.Strategy = allocation.LeastShard{}
	}
	if c.ShardOf == nil {
		n, h := c.Shards, c.Hash
		c.ShardOf = func(id EntityID) ShardID { return h.ShardOf(id, n) }
	}
	return c
}

// Validate reports every fault together; zero fields are taken as their defaults.
func (c Config) Validate() error {
	faults := c.Invalid()
	if len(faults) == 0 {
		return nil
	}
	return fmt.Errorf("%w %q: %w", ErrConfig, c.Type, errors.Join(faults...))
}

// Invalid is what Validate reports, each by its field's name.
func (c Config) Invalid() (faults []error) {
	fault := func(bad bool, format string, args ...any) {
		if bad {
			faults = append(faults, fmt.Errorf(format, args...))
		}
	}
	d := c.WithDefaults()
	fault(c.Type == "" || len(c.Type) > TypeMax, "Type has %d bytes, want 1 to %d", len(c.Type), TypeMax)
	for i := range len(c.Type) {
		fault(c.Type[i] == '/', "Type %q contains '/'", c.Type)
	}
	fault(c.Self == 0, "Self is missing")
	fault(c.Shards < 1 || c.Shards > ShardsMax, "Shards is %d, want 1 to %d", c.Shards, ShardsMax)
	fault(c.Hash >= hashEnd, "Hash: %v is not known", c.Hash)
	fault(d.MinRegions < 1, "MinRegions %d is not positive", d.MinRegions)
	if v, ok := c.Strategy.(interface{ Validate() error }); ok {
		err := v.Validate()
		fault(err != nil, "Strategy: %w", err)
	}
	fault(d.RebalanceInterval > 0 && d.RebalanceInterval < time.Millisecond,
		"RebalanceInterval %v is below 1ms; negative is never", d.RebalanceInterval)
	fault(d.StrategyTimeout < 0, "StrategyTimeout %v is negative", d.StrategyTimeout)
	fault(d.RebalanceDelay < 0, "RebalanceDelay %v is negative", d.RebalanceDelay)
	fault(d.RetryInterval < time.Millisecond, "RetryInterval %v is below 1ms", d.RetryInterval)
	fault(d.BeginTimeout < d.RetryInterval, "BeginTimeout %v is below RetryInterval %v: nothing would be repeated",
		d.BeginTimeout, d.RetryInterval)
	fault(d.HandOffTimeout < 2*d.StopTimeout,
		"HandOffTimeout %v is below twice StopTimeout %v: a forced stop could not finish",
		d.HandOffTimeout, d.StopTimeout)
	fault(d.BufferMax < 1, "BufferMax %d is not positive", d.BufferMax)
	fault(d.StopTimeout < 0, "StopTimeout %v is negative", d.StopTimeout)
	fault(d.PassivationTimeout < 0, "PassivationTimeout %v is negative", d.PassivationTimeout)
	fault(d.RestartBackoff < 0, "RestartBackoff %v is negative", d.RestartBackoff)
	fault(d.LeaseRetryInterval < time.Millisecond, "LeaseRetryInterval %v is below 1ms", d.LeaseRetryInterval)
	fault(!storeOK(c.LeaseStore), "LeaseStore has %d bytes or is not UTF-8, want at most %d",
		len(c.LeaseStore), StoreMax)
	fault(!storeOK(c.CoordinatorLeaseStore), "CoordinatorLeaseStore has %d bytes or is not UTF-8, want at most %d",
		len(c.CoordinatorLeaseStore), StoreMax)
	fault(d.Recovery.Number < 0, "Recovery.Number %d is negative", d.Recovery.Number)
	fault(d.Recovery.Interval < 0, "Recovery.Interval %v is negative", d.Recovery.Interval)
	fault(d.Recovery.Number == 0 && d.Recovery.Interval > 0,
		"Recovery.Interval is %v, but Number is 0: say how many are started per interval",
		d.Recovery.Interval)
	return faults
}
