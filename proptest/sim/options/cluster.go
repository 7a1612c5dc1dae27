package options

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// drawCluster draws a world of the plan Cluster.
func drawCluster(rs random.Streams, plan Plan) Options {
	r := rs.Stream("cluster", 0)
	o := Options{
		Swarm:    Cluster,
		Defect:   plan.Defect,
		Nodes:    random.Pick(r, 3, 3, 3, 5, 5, 5, 7, 7, 7, large),
		Spare:    random.Pick(r, 2, 4, 8),
		Safety:   random.Pick(r, 50*time.Second, 70*time.Second, 100*time.Second),
		Liveness: 180 * time.Second,

		Loss:      random.Pick(r, 0, 0, 0.01, 0.05, 0.15, 0.3),
		Duplicate: random.Pick(r, 0, 0, 0.01, 0.1),
		Straggle:  random.Pick(r, 0, 0, 0.01, 0.05),
		DelayMin:  random.Pick(r, 50*time.Microsecond, 200*time.Microsecond, time.Millisecond),
		DelayMean: random.Pick(r, 100*time.Microsecond, time.Millisecond, 10*time.Millisecond),

		ClockDrift: random.Pick(r, 0, 0.01, 0.01, 0.01),
		WallSkew:   random.Pick(r, 0, 0, 100*time.Millisecond, 30*time.Second, time.Hour),
		DiskMin:    50 * time.Microsecond,
		DiskMax:    random.Pick(r, 200*time.Microsecond, 5*time.Millisecond, 40*time.Millisecond),

		ChaosMin: random.Pick(r, 300*time.Millisecond, time.Second),
		ChaosMax: random.Pick(r, 3*time.Second, 8*time.Second, 15*time.Second),

		Durable:     r.IntN(2) == 0,
		StopTimeout: random.Pick(r, 2*time.Second, 10*time.Second),
		Rebalance:   random.Pick(r, time.Second, 10*time.Second),
		FalseHints:  r.IntN(2) == 0,
		PromptLossy: r.IntN(3) == 0,
	}
	for i := range o.Weights[:DiskFull] { // that one is drawn later
		o.Weights[i] = random.Pick(r, 0, 0, 1, 2, 5)
	}
	o.Weights[Join], o.Weights[Leave] = random.Pick(r, 2, 5, 8), random.Pick(r, 1, 3, 5)
	o.Timing = random.Pick(r, UsualTiming, UsualTiming, HostileTiming, RecklessTiming)
	o.Scenario = random.Pick(r, PlainChaos, PlainChaos, PlainChaos, PlainChaos, PlainChaos, PlainChaos, PlainChaos,
		GrowingView, GrowingView, LostKinds,
		RollingMoves)
	o.drawRestarts(rs.Stream("restarts", 0))
	if plan.ofPersisted() || plan.Swarm == Remind {
		aboutPersisted(&o, rs.Stream("persisted", 0))
	}
	if plan.Swarm == Remind {
		o.Scenario = withoutJournal(o.Scenario)
	}
	o.drawLagging(rs)
	o.fromPlan(plan)
	applyScenario(r, &o)
	o.drawStrategy(r)
	o.lighten(r)
	o.drawLeases(rs.Stream("leases", 0))
	o.drawAllocation(rs.Stream("allocation", 0))
	o.Consulted = rs.Stream("consulted", 0).IntN(4) == 0
	o.drawPassivation(rs.Stream("passivation", 0))
	o.drawLag(rs)
	o.drawHarm(rs.Stream("harm", 0))
	o.drawHandlers(rs.Stream("handlers", 0))
	o.drawStorage(rs.Stream("storage", 0))
	o.drawRoles(rs)
	drawHeld(&o, rs)
	return o
}

// drawStrategy draws how the cluster downs, and how many vote.
func (o *Options) drawStrategy(r *rand.Rand) {
	o.drawMajority(r)
	if o.Scenario != PlainChaos {
		return
	}
	o.Strategy = random.Pick[downing.Strategy](r, downing.KeepMajority{}, downing.KeepMajority{}, downing.Manual{},
		downing.StaticQuorum{Size: o.Nodes/2 + 1}, downing.KeepOldest{},
		downing.KeepOldest{DownIfAlone: true}, downing.DownAll{},
		downing.LeaseMajority{})
	o.VotersMax = random.Pick(r, 0, 0, 0, 1, 3, 5)
}

// lighten leaves as much load as shows whether data and entities survive what the cluster does.
func (o *Options) lighten(r *rand.Rand) {
	o.WriteGap, o.Keys = random.Pick(r, 300*time.Millisecond, time.Second), random.Pick(r, 1, 3)
	o.Reads, o.Linear, o.Removes = 0.4, 0.3, 0.1
	o.Shards, o.EntityTypes = random.Pick(r, 0, 2, 4), 1
	switch o.Scenario {
	case RollingMoves, LaggingViews, RollingRestarts, Closings:
		o.Shards = 4
	}
	o.TellGap = random.Pick(r, 200*time.Millisecond, time.Second)
	if o.Nodes == large {
		o.Safety = min(o.Safety, 50*time.Second)
	}
}

// large is the number of nodes of the largest worlds.
const large = 20

// drawLarge makes a world large now and then, and lets links flap, from a stream of its own.
func (o *Options) drawLarge(r *rand.Rand) {
	if o.Scenario != PlainChaos {
		return
	}
	o.Weights[Flap] = random.Pick(r, 0, 0, 0, 1, 3)
	if r.IntN(40) > 0 {
		return
	}
	o.Nodes, o.Spare, o.Safety = large, min(o.Spare, 2), min(o.Safety, 60*time.Second)
	o.WriteGap, o.TellGap = max(o.WriteGap, 100*time.Millisecond), max(o.TellGap, 100*time.Millisecond)
	if _, ok := o.Strategy.(downing.StaticQuorum); ok {
		o.Strategy = downing.StaticQuorum{Size: large/2 + 1}
	}
}
