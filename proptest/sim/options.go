package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// Plan narrows what a seed draws: a scenario to play, and defects planted in the machines for the
// simulator's own self-test. The zero value leaves everything to the seed.
type Plan struct {
	// Swarm is the name of what seeds are drawn from: empty for everything, or Cluster.
	Swarm string
	// Scenario is the name of the scenario to play; empty: the seed draws one.
	Scenario string
	// Defect is the name of the planted defect; empty: none.
	Defect string
	// CheckEvery runs the machines' own Check after every that many steps; 0 means 1, negative
	// never.
	CheckEvery int
	// FaultsMax ends the chaos after that many faults; 0: it goes on until the world heals.
	FaultsMax int
	// Inserts is how many unique inserts each phase of the scenario "inserts" makes; 0 means 200,
	// as many as in the reference.
	Inserts int
}

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
	// Liveness is how long the healed world may take until every checker is content.
	Liveness   time.Duration
	CheckEvery int // see Plan
	FaultsMax  int // see Plan
	Inserts    int // see Plan

	Loss, Duplicate, Straggle float64       // per packet of the control lane
	DelayMin, DelayMean       time.Duration // of every packet
	ClockDrift                float64       // largest deviation of a clock's rate
	WallSkew                  time.Duration // largest deviation of wall time
	Lag                       time.Duration // of views on single links at most; 0: none lags
	DiskMin, DiskMax          time.Duration // of a commit
	DiskFail                  float64       // per commit
	Torn                      float64       // part of the ends of processes that commit some of what waits
	// Bad is the slot, counted from 1, whose disk tears batches and lies about having written; 0:
	// none.
	Bad int

	ChaosMin, ChaosMax time.Duration   // between two faults of chaos
	Weights            [faultKinds]int // of each kind of fault

	Timing   timing           // the time-outs of all nodes
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
	FrameMax int           // of the Replicator; 0 the default
	// part of the additions to sets that puts large elements in one group, which is larger than a
	// frame
	Bulk float64
	// BatchRows is above how many rows a batch goes to the disk in parts; 0 the default.
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
	Asks        float64            // part of the bursts that asks
	Fails       float64            // part of the messages whose handler fails
	Panics      float64            // or panics
	Hangs       float64            // or waits until its context ends
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
	// ShardLeases and CoordLeases: shards and coordinators take leases in a store outside of the
	// cluster.
	ShardLeases, CoordLeases bool
	// after which a process that is not heard of loses them; 0: they last as long as it
	LeaseTTL   time.Duration
	LeaseRetry time.Duration // the pause between two tries
	NewKeys    []keyStage    // which keys become durable, in order of time
	// Calm: nothing breaks in this world, nodes only join and leave. Every message must then be
	// handled, in the order of its sender.
	Calm bool

	FalseHints bool // memberlist lies
}

// timing is a set of time-outs.
type timing uint8

const (
	usualTiming timing = iota // the preset of package membership
	// hostileTiming leaves all safety to the rules: the least stable-after and the longest lease
	// that Validate lets pass.
	hostileTiming
	// recklessTiming goes beyond what Validate lets pass: stable-after 0, leases of ten seconds. A
	// dropped node always holds a lease still.
	recklessTiming
)

func hostileIf(yes bool) timing {
	if yes {
		return hostileTiming
	}
	return usualTiming
}

func (t timing) String() string { return [...]string{"usual", "hostile", "reckless"}[t] }

// smallFrame is a FrameMax that much does not fit in; defaultFrame is the replicator's default.
const (
	smallFrame   = 600
	defaultFrame = 64 << 10
)

// drawOptions draws a swarm.
func drawOptions(rs random.Streams, plan Plan) Options {
	if plan.Swarm == Cluster {
		return drawCluster(rs, plan)
	}
	r := rs.Stream("options", 0)
	o := Options{
		Defect:   plan.Defect,
		Nodes:    random.Pick(r, 1, 2, 3, 3, 3, 3, 4, 5, 5, 5, 7),
		Spare:    random.Pick(r, 0, 1, 2, 4),
		Safety:   random.Pick(r, 40*time.Second, 60*time.Second, 90*time.Second, 120*time.Second),
		Liveness: 180 * time.Second,

		Loss:      random.Pick(r, 0, 0, 0.01, 0.05, 0.15),
		Duplicate: random.Pick(r, 0, 0, 0.01, 0.1),
		Straggle:  random.Pick(r, 0, 0, 0.01, 0.03),
		DelayMin:  random.Pick(r, 50*time.Microsecond, 200*time.Microsecond, time.Millisecond),
		DelayMean: random.Pick(r, 100*time.Microsecond, time.Millisecond, 10*time.Millisecond),

		ClockDrift: random.Pick(r, 0, 0.01, 0.01),
		WallSkew:   random.Pick(r, 0, 0, 100*time.Millisecond, 30*time.Second, time.Hour),
		DiskMin:    50 * time.Microsecond,
		DiskMax:    random.Pick(r, 200*time.Microsecond, 5*time.Millisecond, 40*time.Millisecond),
		DiskFail:   random.Pick(r, 0, 0, 0, 0.02),

		ChaosMin: random.Pick(r, 300*time.Millisecond, 2*time.Second),
		ChaosMax: random.Pick(r, 3*time.Second, 8*time.Second, 20*time.Second),

		Timing:   hostileIf(r.IntN(4) == 0),
		WriteGap: random.Pick(r, 10*time.Millisecond, 50*time.Millisecond, 200*time.Millisecond),
		Keys:     random.Pick(r, 1, 3, 10),
		Durable:  r.IntN(2) == 0,
		Removes:  random.Pick(r, 0, 0.1, 0.4),
		Reads:    random.Pick(r, 0.1, 0.3, 0.6),
		LogMax:   random.Pick(r, 0, 0, 16, 200),

		Shards:      random.Pick(r, 0, 1, 8, 30),
		EntityTypes: random.Pick(r, 1, 1, 2),
		Remember:    r.IntN(3) == 0,
		TellGap:     random.Pick(r, 5*time.Millisecond, 20*time.Millisecond, 100*time.Millisecond),
		Rebalance:   random.Pick(r, time.Second, 3*time.Second, 10*time.Second),
		StopTimeout: random.Pick(r, 2*time.Second, 10*time.Second),
		Proxy:       r.IntN(4) == 0,
		FalseHints:  r.IntN(2) == 0,
		PromptLossy: r.IntN(3) == 0,
		FrameMax:    random.Pick(r, 0, 0, 0, smallFrame),
	}
	for i := range o.Weights[:flap] { // the others are drawn later
		o.Weights[i] = random.Pick(r, 0, 0, 1, 2, 5)
	}
	o.Scenario = drawScenario(r)
	o.drawRestarts(rs.Stream("restarts", 0))
	o.drawLagging(rs)
	o.fromPlan(plan)
	applyScenario(r, &o)
	o.drawLater(r)
	o.drawArbiter(rs.Stream("arbiter", 0))
	o.drawAllocation(rs.Stream("allocation", 0))
	o.drawLarge(rs.Stream("large", 0))
	o.drawLeases(rs.Stream("leases", 0))
	o.Consulted = rs.Stream("consulted", 0).IntN(4) == 0
	o.drawPassivation(rs.Stream("passivation", 0))
	o.drawLag(rs)
	o.drawKeys(rs)
	o.drawHarm(rs.Stream("harm", 0))
	o.drawHandlers(rs.Stream("handlers", 0))
	o.drawStorage(rs.Stream("storage", 0))
	o.drawRoles(rs.Stream("roles", 0))
	return o
}

// drawHarm draws what few worlds have: disks without room, and clocks as far apart as Epsilon lets
// them be.
func (o *Options) drawHarm(r *rand.Rand) {
	full, apart := random.Pick(r, 0, 0, 0, 1, 3), r.IntN(3) == 0
	if o.Scenario == plainChaos || o.Scenario == coldRestarts {
		o.Weights[diskFull] = full
	}
	if apart && o.ClockDrift > 0 {
		o.ClockDrift = farApart
	}
}

// drawStorage draws what goes wrong with disks in some of the worlds of plain chaos and of cold
// restarts.
func (o *Options) drawStorage(r *rand.Rand) {
	torn, unread, table := random.Pick(r, 0, 0.3, 1), random.Pick(r, 0, 1, 4), random.Pick(r, 0, 2, 6)
	if r.IntN(2) == 0 || o.Scenario != plainChaos && o.Scenario != coldRestarts {
		return
	}
	o.Torn, o.Weights[diskUnread], o.Weights[diskTable] = torn, unread, table
	if bad := r.IntN(3) == 0; bad && o.Nodes >= 3 {
		o.Bad = 1 + r.IntN(o.Nodes)
		o.Weights[diskLies], o.Weights[diskTears] = random.Pick(r, 0, 2, 6), random.Pick(r, 0, 2, 6)
	}
}

// drawHandlers draws what users' handlers do, and how much room the Data lanes have.
func (o *Options) drawHandlers(r *rand.Rand) {
	o.Asks = random.Pick(r, 0, 0.2, 0.6)
	o.LaneMax = random.Pick(r, transport.DefaultDataQueueMax, transport.DefaultDataQueueMax, 400, 4000)
	fails, panics, hangs, late := random.Pick(r, 0, 0, 0.02), random.Pick(r, 0, 0, 0.02), random.Pick(r, 0, 0, 0.002),
		random.Pick(r, 0, 0.1, 0.5)
	o.Directive = random.Pick(r, sharding.Stop, sharding.Restart, sharding.Resume, sharding.Escalate)
	if o.Calm || o.Scenario == closedTypes {
		o.LaneMax, o.Asks = transport.DefaultDataQueueMax, 0 // an asker may not know what became of its question
		return
	}
	o.Fails, o.Panics, o.Hangs, o.Late = fails, panics, hangs, late
}

// farApart is a deviation from true time that makes two clocks differ by less than 0.03, the usual
// Epsilon: 1.0145 / 0.9855 is 1.0294.
const farApart = 0.0145

// fromPlan takes over what the plan says.
func (o *Options) fromPlan(plan Plan) {
	if plan.Scenario != "" {
		o.Scenario = plan.Scenario
	}
	o.CheckEvery, o.FaultsMax, o.Inserts = max(plan.CheckEvery, -1), plan.FaultsMax, max(plan.Inserts, 0)
	if o.CheckEvery == 0 {
		o.CheckEvery = 1
	}
	if o.Inserts == 0 {
		o.Inserts = 200
	}
}

// drawLater draws what the scenario does not bend.
func (o *Options) drawLater(r *rand.Rand) {
	o.WriteBehind = random.Pick(r, 0, 0, 0, 20*time.Millisecond, 300*time.Millisecond)
	o.Linear = random.Pick(r, 0, 0.3, 0.8)
	o.Strategy = downing.KeepMajority{} // the scripted worst cases are those of a majority
	if o.Scenario == plainChaos && r.IntN(2) == 0 {
		o.Strategy = random.Pick[downing.Strategy](r, downing.StaticQuorum{Size: o.Nodes/2 + 1}, downing.KeepOldest{},
			downing.KeepOldest{DownIfAlone: true}, downing.DownAll{})
	}
	if o.Scenario == plainChaos || o.Scenario == coldRestarts {
		o.VotersMax = random.Pick(r, 0, 0, 0, 1, 3)
	}
	switch o.Scenario {
	case plainChaos, tidying, smallLogs, coldRestarts: // the others are about their own load
		o.drawTidy(r)
		o.drawBulk(r)
	}
}

// drawBulk draws whether what is usually rare comes up all the time: groups that travel in parts,
// and batches that go to the disk in parts.
func (o *Options) drawBulk(r *rand.Rand) {
	o.BatchRows = random.Pick(r, 0, 0, 1, 3, 10)
	if o.Bulk = random.Pick(r, 0, 0, 0.1, 0.3); o.Bulk > 0 {
		o.FrameMax = smallFrame
	}
}

// drawArbiter draws from a stream of its own, so that no other seed's story changes.
func (o *Options) drawArbiter(r *rand.Rand) {
	if o.Strategy == (downing.DownAll{}) && r.IntN(3) > 0 {
		o.Strategy = downing.LeaseMajority{}
	}
}

// drawAllocation draws the strategy that chooses the homes of shards, likewise.
func (o *Options) drawAllocation(r *rand.Rand) {
	o.Allocation = random.Pick[allocation.Strategy](r, allocation.LeastShard{},
		allocation.LeastShard{}, allocation.Threshold{},
		allocation.ConsistentHashing{RebalanceLimit: 3}, allocation.External{},
		allocation.LoadAware{RestAfterMove: 5 * time.Second})
}

// drawLeases draws leases of shards and coordinators, likewise. A calm world has none, nor one that
// checks order: it is not kept across a hand-off of a shard that waits for one.
func (o *Options) drawLeases(r *rand.Rand) {
	which := random.Pick(r, 0, 0, 0, 1, 2, 3)
	o.LeaseTTL, o.LeaseRetry = random.Pick(r, 0, 3*time.Second, 8*time.Second),
		random.Pick(r, 500*time.Millisecond, 2*time.Second)
	if o.Shards > 0 && !o.Calm && o.Scenario != closedTypes {
		o.ShardLeases, o.CoordLeases = which&1 > 0, which&2 > 0
	}
}

// drawPassivation draws a limit on active entities, likewise.
func (o *Options) drawPassivation(r *rand.Rand) {
	limited := r.IntN(3) == 0
	levels := passivation.DefaultStrategy()
	levels.Admission.Window.HillClimbing = r.IntN(2) == 0
	o.Passivation = random.Pick(r, passivation.Strategy{}, passivation.Strategy{Levels: 3}, passivation.Strategy{
		Replacement: passivation.MostRecentlyUsed,
	},
		passivation.Strategy{Replacement: passivation.LeastFrequentlyUsed, DynamicAging: true}, levels)
	n := random.Pick(r, 1, 2, 4)
	if limited {
		o.ActiveLimit = max(1, o.Shards*entitiesPerShard/n)
	}
	o.Passivation.ActiveEntityLimit = max(1, o.ActiveLimit)
	o.Passivation = o.Passivation.WithDefaults()
}

// leases reports whether there is a store of leases.
func (o *Options) leases() bool { return o.ShardLeases || o.CoordLeases }

// expireTimeout is how long operations may take in worlds where keys expire.
const expireTimeout = 2 * time.Second

// drawTidy draws what there is to tidy up.
func (o *Options) drawTidy(r *rand.Rand) {
	o.Owned, o.Fleeting, o.Final = random.Pick(r, 0, 0, 0.1, 0.3), random.Pick(r, 0, 0, 0.1, 0.2),
		random.Pick(r, 0, 0, 0.05, 0.1)
	if o.Scenario == tidying {
		o.Owned, o.Fleeting = 0.2, 0.3
	}
	if o.Fleeting > 0 {
		o.ExpireAfter, o.Timeout = random.Pick(r, 4*time.Second, 7*time.Second, 12*time.Second), expireTimeout
	}
}

func (o Options) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s nodes=%d+%d safety=%v loss=%g dup=%g straggle=%g delay=%v+%v drift=%g skew=%v disk=%v+%v "+
		"fail=%g", o.Scenario, o.Nodes, o.Spare,
		o.Safety, o.Loss, o.Duplicate, o.Straggle, o.DelayMin, o.DelayMean, o.ClockDrift, o.WallSkew, o.DiskMax,
		o.WriteBehind, o.DiskFail)
	fmt.Fprintf(&b, " timing=%v write=%v keys=%d durable=%v removes=%g reads=%g linear=%g log=%d shards=%dx%d "+
		"remember=%v", o.Timing,
		o.WriteGap, o.Keys, o.Durable, o.Removes, o.Reads, o.Linear, o.LogMax, o.EntityTypes, o.Shards, o.Remember)
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
	if o.leases() {
		fmt.Fprintf(&b, " leases of shards=%v coordinators=%v ttl=%v", o.ShardLeases, o.CoordLeases, o.LeaseTTL)
	}
	if o.ActiveLimit > 0 {
		fmt.Fprintf(&b, " active=%d %v", o.ActiveLimit, o.Passivation.Replacement)
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
	fmt.Fprint(&b, " chaos=[")
	for i, n := range o.Weights {
		if n > 0 {
			fmt.Fprintf(&b, " %v:%d", fault(i), n)
		}
	}
	b.WriteString(" ]")
	if o.Defect != "" {
		fmt.Fprintf(&b, " DEFECT=%s", o.Defect)
	}
	return b.String()
}
