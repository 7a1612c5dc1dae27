package sim

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/random"
)

// A scenario beside plain chaos provokes what chance finds too rarely. Each is drawn from the seed
// in ordinary runs too; none knows of the defects that may be planted.
const (
	plainChaos = "chaos"
	// growingView cuts the network at the moment when a view commits that has grown, so that the
	// old view's quorum and the new one's hardly meet.
	growingView = "growing-view"
	// coldRestarts stops everything again and again under durable writes.
	coldRestarts = "cold-restarts"
	// badDisks does so with disks that misbehave in every way. It is no part of the swarm.
	badDisks = "bad-disks"
	// stoppedGrowing stops everything at the moment when a view has grown, and brings back a part
	// of it first.
	stoppedGrowing = "stopped-growing"
	// rollingMoves joins and leaves under a load of entity messages, so that shards move all the
	// time.
	rollingMoves = "rolling-moves"
	// laggingViews does so while views come late to some nodes, in calm worlds: order is judged.
	laggingViews = "lagging-views"
	// closedTypes closes entity types on nodes that stay, and starts them there again, while others
	// join and leave. It is no part of the swarm.
	closedTypes = "closed-types"
	// rollingRestarts restarts all nodes in turn, and closings all at once by an orderly shutdown
	// of the cluster.
	rollingRestarts = "rolling-restarts"
	closings        = "closings"
	// newKeys restarts all nodes in turn while more and more keys become durable. It is no part of
	// the swarm, of which some worlds do that too.
	newKeys = "new-keys"
	// stops stops all nodes at once, in order, and starts them again. It is no part of the swarm.
	stops = "stops"
	// oldLeases kills all but the oldest node, which is cut off, and starts them again while that
	// one may still hold its lease. It is no part of the swarm.
	oldLeases = "old-leases"
	// lostKinds loses, for seconds, all control packets of some kind on some way: promises that
	// arrive, outcomes that do not.
	lostKinds = "lost-kinds"
	// smallLogs forces reconciliation: short logs, long cuts, many removes.
	smallLogs = "small-logs"
	// tidying keeps from the oldest what others know while it tidies up.
	tidying = "tidying"
	// lateCounts lets members count that are heard of late, when they have been removed: folds must
	// wait for such counts. It is no part of the swarm, for tidying plays that too, more rarely.
	lateCounts = "late-counts"
	// manyLeave lets more than half of the members go at once, which alone know of what was
	// acknowledged last. It is no part of the swarm.
	manyLeave = "many-leave"
	// inserts plays the insert test of the reference: unique inserts, connected and split, at Local
	// and at Majority. It is no part of the swarm.
	inserts = "inserts"
)

// Scenarios are the names of all scenarios.
var Scenarios = []string{plainChaos, growingView, coldRestarts, badDisks, stoppedGrowing, rollingMoves,
	laggingViews,
	rollingRestarts, newKeys, closings, stops, oldLeases, lostKinds, smallLogs, tidying, lateCounts, manyLeave,
	inserts, closedTypes}

func drawScenario(r *rand.Rand) string {
	return random.Pick(r, plainChaos, plainChaos, plainChaos, plainChaos, growingView, growingView, coldRestarts,
		stoppedGrowing, rollingMoves, rollingMoves, lostKinds, lostKinds, smallLogs, tidying)
}

// drawRestarts makes some of the worlds of plain chaos ones of restarts, from a stream of its own.
func (o *Options) drawRestarts(r *rand.Rand) {
	if k := r.IntN(16); o.Scenario == plainChaos && k < 2 {
		o.Scenario = []string{rollingRestarts, closings}[k]
	}
}

// scripts are the scenarios that replace the random faults.
var scripts = map[string]func(*chaos){
	growingView:     playGrowingView,
	stoppedGrowing:  playStoppedGrowing,
	rollingMoves:    playRollingMoves,
	laggingViews:    playRollingMoves,
	closedTypes:     playClosedTypes,
	rollingRestarts: playRollingRestarts,
	newKeys:         playRollingRestarts,
	closings:        playClosings,
	stops:           playStops,
	oldLeases:       playOldLeases,
	lostKinds:       playLostKinds,
	tidying:         playTidying,
	lateCounts:      playLateCounts,
	manyLeave:       playManyLeave,
	inserts:         playInserts,
}

// applyScenario bends the drawn options to the scenario.
func applyScenario(r *rand.Rand, o *Options) {
	quiet := [faultKinds]int{}
	switch o.Scenario {
	case growingView:
		o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 3, 3, 4), 10, 0, 150*time.Second
		if t := hostileIf(r.IntN(4) > 0); o.Timing != recklessTiming {
			o.Timing = t
		}
		o.WriteGap, o.Reads = random.Pick(r, 5*time.Millisecond, 10*time.Millisecond), 0.6
	case coldRestarts:
		o.applyColdRestarts(r)
	case badDisks:
		o.applyBadDisks(r)
	case stoppedGrowing:
		o.Nodes, o.Spare, o.Durable, o.Shards, o.Safety = random.Pick(r, 1, 2, 3, 3), 4, true, 0, 200*time.Second
		o.DiskMax, o.DiskFail = random.Pick(r, 5*time.Millisecond, 40*time.Millisecond), 0
		o.WriteGap, o.Reads = random.Pick(r, 5*time.Millisecond, 20*time.Millisecond), 0.5
		o.Loss, o.PromptLossy = random.Pick(r, 0, 0.01), true
	case rollingMoves, laggingViews:
		o.applyMoves(r)
	case closedTypes:
		o.Nodes, o.Spare = random.Pick(r, 2, 3, 4), 3
		o.Shards, o.TellGap = random.Pick(r, 4, 8, 20), random.Pick(r, 5*time.Millisecond, 20*time.Millisecond)
		o.Loss, o.Straggle, o.Calm = random.Pick(r, 0, 0.01), 0, r.IntN(2) == 0
		o.Weights, o.DiskFail, o.Timing, o.StopTimeout = quiet, 0, usualTiming, 10*time.Second // as in rollingMoves
	case rollingRestarts, closings, stops, oldLeases:
		o.applyRestarts(r)
	case lostKinds:
		o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 2, 3, 3, 4), 5, 0, 120*time.Second
		o.WriteGap = 200 * time.Millisecond
	case smallLogs:
		o.Nodes, o.LogMax, o.Removes, o.Keys = random.Pick(r, 3, 5), random.Pick(r, 1, 4, 16), 0.4, random.Pick(r, 1, 3)
		o.WriteGap, o.Shards = random.Pick(r, 10*time.Millisecond, 30*time.Millisecond), 0
		o.Weights = quiet
		o.Weights[split], o.Weights[isolate], o.Weights[mend] = 3, 3, 3
		o.Weights[freeze], o.Weights[partial], o.Weights[connectionReset] = 1, 2, 2
		o.WeakSketch = r.IntN(2) == 0
	case tidying:
		o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 3, 5, 5), 4, 0, 150*time.Second
		o.Timing, o.PromptLossy, o.DiskFail = usualTiming, false, 0
		o.Keys, o.WriteGap, o.Reads = random.Pick(r, 1, 3),
			random.Pick(r, 20*time.Millisecond, 50*time.Millisecond), 0.3
	case lateCounts:
		o.Nodes, o.Spare, o.Shards, o.Safety = 5, 4, 0, 150*time.Second
		o.Timing, o.PromptLossy, o.DiskFail, o.Durable = usualTiming, false, 0, false
		o.Keys, o.WriteGap, o.Reads, o.Sums = 1, 20*time.Millisecond, 0.3, 0.8
	case manyLeave:
		o.Nodes, o.Spare, o.Shards, o.Safety = random.Pick(r, 3, 5, 5), 12, 0, 60*time.Second
		o.Timing, o.PromptLossy, o.DiskFail = usualTiming, false, 0
		o.WriteGap, o.Reads = 10*time.Millisecond, 0.5
	case inserts:
		o.Nodes, o.Spare, o.Shards, o.Safety = insertNodes, 0, 0, 110*time.Second
		o.Loss, o.Straggle, o.DiskFail, o.WriteGap = 0, 0, 0, time.Second
		o.Timing = usualTiming // a split of five seconds must not be decided
	}
}

// applyMoves bends the options to rollingMoves and to laggingViews.
func (o *Options) applyMoves(r *rand.Rand) {
	o.Nodes, o.Spare = 3, 4
	o.Shards, o.TellGap = random.Pick(r, 4, 8, 20), random.Pick(r, 2*time.Millisecond, 5*time.Millisecond)
	o.Loss, o.Straggle = random.Pick(r, 0, 0.01), 0
	o.Calm = r.IntN(2) == 0 || o.Scenario == laggingViews
	if o.Scenario == laggingViews {
		o.DiskMax, o.Rebalance = 40*time.Millisecond, time.Second
	}
	if o.Calm { // clocks, disks and the control lane may still be bad, but no lease may run out
		o.Weights, o.DiskFail, o.Timing = [faultKinds]int{}, 0, usualTiming
		o.StopTimeout = 10 * time.Second // longer than the slowest handler
	}
}

// applyRestarts bends the options to the scenarios that stop nodes and start them again.
func (o *Options) applyRestarts(r *rand.Rand) {
	quiet := [faultKinds]int{}
	switch o.Scenario {
	case rollingRestarts:
		o.Nodes, o.Spare, o.Safety = random.Pick(r, 3, 3, 4), 0, 120*time.Second
		o.Shards, o.TellGap = random.Pick(r, 4, 8, 20), random.Pick(r, 5*time.Millisecond, 20*time.Millisecond)
		o.RebalanceDelay = random.Pick(r, 0, 8*time.Second, 20*time.Second)
		o.Loss, o.Straggle, o.Calm = random.Pick(r, 0, 0.01), 0, r.IntN(2) == 0
		o.Weights, o.DiskFail, o.Timing, o.StopTimeout = quiet, 0, usualTiming, 10*time.Second // as in rollingMoves
	case closings:
		o.Nodes, o.Spare, o.Safety, o.Durable = random.Pick(r, 3, 3, 4), 1, 130*time.Second, true
		o.Shards, o.TellGap, o.Remember = random.Pick(r, 4, 8, 20),
			random.Pick(r, 5*time.Millisecond, 20*time.Millisecond), true
		o.Loss, o.Straggle, o.Weights, o.DiskFail, o.Timing = random.Pick(r, 0, 0.01, 0.05), 0, quiet, 0, usualTiming
	case stops:
		o.Nodes, o.Spare, o.Safety, o.Durable, o.Shards = random.Pick(r, 2, 3, 3, 4, 5), 1, 180*time.Second, true, 0
		o.Loss, o.Straggle, o.Weights, o.DiskFail, o.Timing = random.Pick(r, 0, 0.01, 0.05), 0, quiet, 0, usualTiming
	case oldLeases:
		o.Nodes, o.Spare, o.Safety, o.Durable, o.Shards = random.Pick(r, 3, 3, 4, 5), 0, 180*time.Second, true, 0
		o.Loss, o.Straggle, o.Weights, o.DiskFail = random.Pick(r, 0, 0.01, 0.05), 0, quiet, 0
	}
}

// applyColdRestarts bends the options to coldRestarts.
func (o *Options) applyColdRestarts(r *rand.Rand) {
	o.Nodes, o.Durable, o.Shards, o.Weights = random.Pick(r, 1, 3, 3, 5), true, 0, [faultKinds]int{}
	o.DiskMax = random.Pick(r, 5*time.Millisecond, 40*time.Millisecond, 200*time.Millisecond)
	o.WriteGap = random.Pick(r, 5*time.Millisecond, 20*time.Millisecond)
	o.Weights[crash], o.Weights[crashAll], o.Weights[diskStall], o.Weights[mend] = 4, 2, 2, 1
}

// applyBadDisks bends the options to badDisks.
func (o *Options) applyBadDisks(r *rand.Rand) {
	o.Nodes, o.Durable, o.Shards, o.Weights = random.Pick(r, 3, 3, 4, 5), true, 0, [faultKinds]int{}
	o.DiskMax, o.DiskFail = random.Pick(r, 5*time.Millisecond, 40*time.Millisecond), random.Pick(r, 0, 0.02)
	o.WriteGap, o.Reads = random.Pick(r, 5*time.Millisecond, 20*time.Millisecond), 0.3
	o.Weights[crash], o.Weights[crashAll], o.Weights[diskStall], o.Weights[mend] = 2, 1, 1, 1
	o.Torn, o.Weights[diskUnread], o.Weights[diskTable], o.Weights[diskFull] = random.Pick(r, 0, 0.5), 2, 2, 1
	o.Bad, o.Weights[diskLies], o.Weights[diskTears] = 1+r.IntN(o.Nodes), 3, 3
}
