package options

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// The scenarios.
const (
	PlainChaos = "chaos"
	// GrowingView cuts the network at the moment when a view commits that has grown, so that the
	// old view's quorum and the new one's hardly meet.
	GrowingView = "growing-view"
	// ColdRestarts stops everything again and again under durable writes.
	ColdRestarts = "cold-restarts"
	// BadDisks does so with disks that misbehave in every way. It is no part of the swarm.
	BadDisks = "bad-disks"
	// Votes plays the worst cases of votes and leases: what is decided is heard of by few, grants come
	// late, and an operator downs the oldest. It is no part of the swarm.
	Votes = "votes"
	// StoppedGrowing stops everything at the moment when a view has grown, and brings back a part
	// of it first.
	StoppedGrowing = "stopped-growing"
	// RollingMoves joins and leaves under a load of entity messages, so that shards move all the
	// time.
	RollingMoves = "rolling-moves"
	// LaggingViews does so while views come late to some nodes, in calm worlds: order is judged.
	LaggingViews = "lagging-views"
	// ClosedTypes closes entity types on nodes that stay, and starts them there again, while others
	// join and leave. It is no part of the swarm.
	ClosedTypes = "closed-types"
	// CrowdedMoves joins and leaves while handlers fail and are restarted, and mailboxes and buffers
	// are often full: what finds no room is reported, the rest keeps its order. It is no part of the
	// swarm.
	CrowdedMoves = "crowded-moves"
	// RollingRestarts restarts all nodes in turn, and closings all at once by an orderly shutdown
	// of the cluster.
	RollingRestarts = "rolling-restarts"
	Closings        = "closings"
	// LeaseRollouts restarts all nodes in turn, too. It introduces leases of shards and coordinators by
	// that, and takes them away again. It is no part of the swarm.
	LeaseRollouts = "lease-rollouts"
	// NewKeys restarts all nodes in turn while more and more keys become durable. It is no part of
	// the swarm, of which some worlds do that too.
	NewKeys = "new-keys"
	// Retirements restarts all nodes in turn while incarnations that are over retire often. Old copies of
	// directories come back. It is no part of the swarm, of which some worlds let incarnations retire, too.
	Retirements = "retirements"
	// Stops stops all nodes at once, in order, and starts them again. It is no part of the swarm.
	Stops = "stops"
	// OldLeases kills all but the oldest node, which is cut off, and starts them again while that
	// one may still hold its lease. It is no part of the swarm.
	OldLeases = "old-leases"
	// WakeUps suspends the oldest node until the others have gone on without it. It is no part of the
	// swarm, in which a suspend may come to any node.
	WakeUps = "wake-ups"
	// LostKinds loses, for seconds, all control packets of some kind on some way: promises that
	// arrive, outcomes that do not.
	LostKinds = "lost-kinds"
	// SmallLogs forces reconciliation: short logs, long cuts, many removes.
	SmallLogs = "small-logs"
	// SmallBacklogs lets replicas be hardly behind before writers wait for them, or go on without
	// them if a majority keeps up. It is no part of the swarm.
	SmallBacklogs = "small-backlogs"
	// Tidying keeps from the oldest what others know while it tidies up.
	Tidying = "tidying"
	// LateCounts lets members count that are heard of late, when they have been removed: folds must
	// wait for such counts. It is no part of the swarm, for tidying plays that too, more rarely.
	LateCounts = "late-counts"
	// ManyLeave lets more than half of the members go at once, which alone know of what was
	// acknowledged last. It is no part of the swarm.
	ManyLeave = "many-leave"
	// Inserts plays the insert test of the reference: unique inserts, connected and split, at Local
	// and at Majority. It is no part of the swarm.
	Inserts = "inserts"
	// Deposed has processes stand still while they write the state of entities, until another one has
	// taken over. It belongs to the plan Persist.
	Deposed = "deposed"
	// TwoCoordinators has processes stand still while they write the homes of shards, until another
	// coordinator has begun. It belongs to the plan Persist.
	TwoCoordinators = "two-coordinators"
)

// InsertNodes is how many nodes insert.
const InsertNodes = 5

// Scenarios are the names of all scenarios.
var Scenarios = []string{PlainChaos, GrowingView, ColdRestarts, BadDisks, StoppedGrowing, RollingMoves,
	LaggingViews,
	RollingRestarts, NewKeys, Closings, Stops, OldLeases, WakeUps, LostKinds, SmallLogs, Tidying, LateCounts, ManyLeave,
	Inserts, ClosedTypes, CrowdedMoves, Votes, Deposed, TwoCoordinators, LeaseRollouts,
	Retirements, SmallBacklogs}

func drawScenario(r *rand.Rand) string {
	return random.Pick(r, PlainChaos, PlainChaos, PlainChaos, PlainChaos, GrowingView, GrowingView, ColdRestarts,
		StoppedGrowing, RollingMoves, RollingMoves, LostKinds, LostKinds, SmallLogs, Tidying)
}

// drawRestarts makes some of the worlds of plain chaos ones of restarts, from a stream of its own.
func (o *Options) drawRestarts(r *rand.Rand) {
	if k := r.IntN(16); o.Scenario == PlainChaos && k < 2 {
		o.Scenario = []string{RollingRestarts, Closings}[k]
	}
}

// applyScenario bends the drawn options to the scenario.
func applyScenario(r *rand.Rand, o *Options) {
	quiet := [FaultKinds]int{}
	switch o.Scenario {
	case GrowingView:
		o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 3, 3, 4), 10, 0, 150*time.Second
		if t := hostileIf(r.IntN(4) > 0); o.Timing != RecklessTiming {
			o.Timing = t
		}
		o.WriteGap, o.Reads = random.Pick(r, 5*time.Millisecond, 10*time.Millisecond), 0.6
	case Votes:
		o.Nodes, o.Spare, o.Shards, o.Safety, o.Timing = 3, 4, 0, 200*time.Second, UsualTiming
		o.Weights, o.Loss, o.Straggle, o.DiskFail = quiet, random.Pick(r, 0, 0.01), 0, 0
		o.WriteGap = 200 * time.Millisecond
	case ColdRestarts:
		o.applyColdRestarts(r)
	case BadDisks:
		o.applyBadDisks(r)
	case StoppedGrowing:
		o.Nodes, o.Spare, o.Durable, o.Shards, o.Safety = random.Pick(r, 1, 2, 3, 3), 4, true, 0, 200*time.Second
		o.DiskMax, o.DiskFail = random.Pick(r, 5*time.Millisecond, 40*time.Millisecond), 0
		o.WriteGap, o.Reads = random.Pick(r, 5*time.Millisecond, 20*time.Millisecond), 0.5
		o.Loss, o.PromptLossy = random.Pick(r, 0, 0.01), true
	case RollingMoves, LaggingViews, CrowdedMoves:
		o.applyMoves(r)
	case ClosedTypes:
		o.Nodes, o.Spare = random.Pick(r, 2, 3, 4), 3
		o.Shards, o.TellGap = random.Pick(r, 4, 8, 20), random.Pick(r, 5*time.Millisecond, 20*time.Millisecond)
		o.Loss, o.Straggle, o.Calm = random.Pick(r, 0, 0.01), 0, r.IntN(2) == 0
		o.Weights, o.DiskFail, o.Timing, o.StopTimeout = quiet, 0, UsualTiming, 10*time.Second // as in RollingMoves
	case RollingRestarts, LeaseRollouts, Closings, Stops, OldLeases, WakeUps:
		o.applyRestarts(r)
	case Retirements:
		o.Nodes, o.Spare, o.Safety, o.Shards, o.Durable = random.Pick(r, 3, 3, 4), 0, 200*time.Second, 0, true
		o.Loss, o.Straggle, o.Calm, o.Weights = random.Pick(r, 0, 0.01), 0, false, quiet
		o.WriteGap, o.Removes, o.Keys, o.LogMax = 20*time.Millisecond, 0.4, random.Pick(r, 1, 3), random.Pick(r, 0, 16)
		o.DiskFail, o.Timing = 0, UsualTiming
	case LostKinds:
		o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 2, 3, 3, 4), 5, 0, 120*time.Second
		o.WriteGap = 200 * time.Millisecond
	case SmallLogs:
		applySmallLogs(r, o)
	case SmallBacklogs:
		applySmallBacklogs(r, o)
	case Tidying:
		o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 3, 5, 5), 4, 0, 150*time.Second
		o.Timing, o.PromptLossy, o.DiskFail = UsualTiming, false, 0
		o.Keys, o.WriteGap, o.Reads = random.Pick(r, 1, 3),
			random.Pick(r, 20*time.Millisecond, 50*time.Millisecond), 0.3
	case LateCounts:
		o.Nodes, o.Spare, o.Shards, o.Safety = 5, 4, 0, 150*time.Second
		o.Timing, o.PromptLossy, o.DiskFail, o.Durable = UsualTiming, false, 0, false
		o.Keys, o.WriteGap, o.Reads, o.Sums = 1, 20*time.Millisecond, 0.3, 0.8
	case ManyLeave:
		o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 3, 5, 5), 12, 0, 60*time.Second
		o.Timing, o.PromptLossy, o.DiskFail = UsualTiming, false, 0
		o.WriteGap, o.Reads = 10*time.Millisecond, 0.5
	case Deposed, TwoCoordinators:
		o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 3, 3, 5), 0, 0, 120*time.Second
		o.Weights, o.Loss, o.Straggle, o.DiskFail, o.Timing = quiet, random.Pick(r, 0, 0.01), 0, 0, UsualTiming
	case Inserts:
		o.Nodes, o.Spare, o.Shards, o.Safety = InsertNodes, 0, 0, 110*time.Second
		o.Loss, o.Straggle, o.DiskFail, o.WriteGap = 0, 0, 0, time.Second
		o.Timing = UsualTiming // a split of five seconds must not be decided
	}
}

// applySmallLogs bends the options to SmallLogs.
func applySmallLogs(r *rand.Rand, o *Options) {
	o.Nodes, o.LogMax, o.Removes, o.Keys = random.Pick(r, 3, 5), random.Pick(r, 1, 4, 16), 0.4, random.Pick(r, 1, 3)
	o.WriteGap, o.Shards = random.Pick(r, 10*time.Millisecond, 30*time.Millisecond), 0
	o.Weights = [FaultKinds]int{}
	o.Weights[Split], o.Weights[Isolate], o.Weights[Mend] = 3, 3, 3
	o.Weights[Freeze], o.Weights[Partial], o.Weights[ConnectionReset] = 1, 2, 2
	o.WeakSketch = r.IntN(2) == 0
}

// applySmallBacklogs bends the options to SmallBacklogs.
func applySmallBacklogs(r *rand.Rand, o *Options) {
	o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 2, 3, 3, 5), 3, 0, 60*time.Second
	o.BacklogMax, o.LogMax = random.Pick(r, 512, 1024, 4096), random.Pick(r, 0, 4, 16, 200)
	o.WriteGap, o.Reads = random.Pick(r, 2*time.Millisecond, 5*time.Millisecond), 0.2
	o.DelayMean, o.Straggle = random.Pick(r, 5*time.Millisecond, 30*time.Millisecond), random.Pick(r, 0, 0.02)
	o.Weights = [FaultKinds]int{}
	o.Weights[Freeze], o.Weights[DiskStall], o.Weights[Crash], o.Weights[Mend] = 3, 1, 1, 2
	o.Weights[Isolate], o.Weights[Join], o.Weights[Leave] = 1, 1, 1
}

// applyMoves bends the options to RollingMoves and to LaggingViews.
func (o *Options) applyMoves(r *rand.Rand) {
	o.Nodes, o.Spare = 3, 4
	o.Shards, o.TellGap = random.Pick(r, 4, 8, 20), random.Pick(r, 2*time.Millisecond, 5*time.Millisecond)
	o.Loss, o.Straggle = random.Pick(r, 0, 0.01), 0
	o.Calm = r.IntN(2) == 0 && o.Scenario != CrowdedMoves || o.Scenario == LaggingViews
	if o.Scenario == LaggingViews {
		o.DiskMax, o.Rebalance = 40*time.Millisecond, time.Second
	}
	if o.Calm || o.Scenario == CrowdedMoves {
		// clocks, disks and the control lane may still be bad, but no lease may run out
		o.Weights, o.DiskFail, o.Timing = [FaultKinds]int{}, 0, UsualTiming
		o.StopTimeout = 10 * time.Second // longer than the slowest handler
	}
	if o.Scenario == CrowdedMoves {
		o.StopTimeout, o.TellGap = random.Pick(r, time.Second, 2*time.Second), 10*time.Millisecond
	}
}

// applyRestarts bends the options to the scenarios that stop nodes and start them again.
func (o *Options) applyRestarts(r *rand.Rand) {
	quiet := [FaultKinds]int{}
	switch o.Scenario {
	case RollingRestarts, LeaseRollouts:
		o.Nodes, o.Spare, o.Safety = random.Pick(r, 3, 3, 4), 0, 120*time.Second
		o.Shards, o.TellGap = random.Pick(r, 4, 8, 20), random.Pick(r, 5*time.Millisecond, 20*time.Millisecond)
		o.RebalanceDelay = random.Pick(r, 0, 8*time.Second, 20*time.Second)
		o.Loss, o.Straggle, o.Calm = random.Pick(r, 0, 0.01), 0, r.IntN(2) == 0
		o.Weights, o.DiskFail, o.Timing, o.StopTimeout = quiet, 0, UsualTiming, 10*time.Second // as in RollingMoves
		if o.Scenario == LeaseRollouts {
			o.Calm, o.Safety = false, 240*time.Second
		}
	case Closings:
		o.Nodes, o.Spare, o.Safety, o.Durable = random.Pick(r, 3, 3, 4), 1, 130*time.Second, true
		o.Shards, o.TellGap, o.Remember = random.Pick(r, 4, 8, 20),
			random.Pick(r, 5*time.Millisecond, 20*time.Millisecond), true
		o.Loss, o.Straggle, o.Weights, o.DiskFail, o.Timing = random.Pick(r, 0, 0.01, 0.05), 0, quiet, 0, UsualTiming
	case Stops:
		o.Nodes, o.Spare, o.Safety, o.Durable, o.Shards = random.Pick(r, 2, 3, 3, 4, 5), 1, 180*time.Second, true, 0
		o.Loss, o.Straggle, o.Weights, o.DiskFail, o.Timing = random.Pick(r, 0, 0.01, 0.05), 0, quiet, 0, UsualTiming
	case OldLeases, WakeUps:
		o.Nodes, o.Spare, o.Safety, o.Durable, o.Shards = random.Pick(r, 3, 3, 4, 5), 0, 180*time.Second, true, 0
		o.Loss, o.Straggle, o.Weights, o.DiskFail = random.Pick(r, 0, 0.01, 0.05), 0, quiet, 0
	}
}

// applyColdRestarts bends the options to ColdRestarts.
func (o *Options) applyColdRestarts(r *rand.Rand) {
	o.Nodes, o.Durable, o.Shards, o.Weights = random.Pick(r, 1, 3, 3, 5), true, 0, [FaultKinds]int{}
	o.DiskMax = random.Pick(r, 5*time.Millisecond, 40*time.Millisecond, 200*time.Millisecond)
	o.WriteGap = random.Pick(r, 5*time.Millisecond, 20*time.Millisecond)
	o.Weights[Crash], o.Weights[CrashAll], o.Weights[DiskStall], o.Weights[Mend] = 4, 2, 2, 1
}

// applyBadDisks bends the options to BadDisks.
func (o *Options) applyBadDisks(r *rand.Rand) {
	o.Nodes, o.Durable, o.Shards, o.Weights = random.Pick(r, 3, 3, 4, 5), true, 0, [FaultKinds]int{}
	o.DiskMax, o.DiskFail = random.Pick(r, 5*time.Millisecond, 40*time.Millisecond), random.Pick(r, 0, 0.02)
	o.WriteGap, o.Reads = random.Pick(r, 5*time.Millisecond, 20*time.Millisecond), 0.3
	o.Weights[Crash], o.Weights[CrashAll], o.Weights[DiskStall], o.Weights[Mend] = 2, 1, 1, 1
	o.Torn, o.Weights[DiskUnread], o.Weights[DiskTable], o.Weights[DiskFull] = random.Pick(r, 0, 0.5), 2, 2, 1
	o.Bad, o.Weights[DiskLies], o.Weights[DiskTears] = 1+r.IntN(o.Nodes), 3, 3
}
