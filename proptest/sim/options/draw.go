package options

import (
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/passivation"
)

// Draw draws a swarm.
func Draw(rs random.Streams, plan Plan) Options {
	if draw := plan.own(); draw != nil {
		return draw(rs, plan)
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
		FrameMax:    random.Pick(r, 0, 0, 0, SmallFrame),
	}
	for i := range o.Weights[:Flap] { // the others are drawn later
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
	o.Consulted, o.VolatileIDs = rs.Stream("consulted", 0).IntN(4) == 0, rs.Stream("volatile ids", 0).IntN(4) == 0
	o.drawPassivation(rs.Stream("passivation", 0))
	o.drawLag(rs)
	o.drawKeys(rs)
	o.drawHarm(rs.Stream("harm", 0))
	o.drawHandlers(rs.Stream("handlers", 0))
	o.drawStorage(rs.Stream("storage", 0))
	o.drawRoles(rs)
	drawHeld(&o, rs)
	return o
}

// drawHarm draws what few worlds have: disks without room, and clocks as far apart as Epsilon lets
// them be.
func (o *Options) drawHarm(r *rand.Rand) {
	full, apart := random.Pick(r, 0, 0, 0, 1, 3), r.IntN(3) == 0
	if o.Scenario == PlainChaos || o.Scenario == ColdRestarts {
		o.Weights[DiskFull] = full
	}
	if apart && o.ClockDrift > 0 {
		o.ClockDrift = farApart
	}
	o.Extreme = o.ClockDrift > 0 && r.IntN(2) == 0
	switch jumps, record := random.Pick(r, 0, 0, 1, 3), random.Pick(r, 0, 0, 1, 3); o.Scenario {
	case PlainChaos, ColdRestarts, SmallLogs: // BadDisks has a mixture of its own
		o.Weights[WakeJump], o.Weights[DiskRecord] = jumps, record
		o.Weights[HaltInStep] = random.Pick(r, 0, 2, 5, 10)
	}
}

// drawStorage draws what goes wrong with disks in some of the worlds of plain chaos and of cold
// restarts.
func (o *Options) drawStorage(r *rand.Rand) {
	torn, unread, table := random.Pick(r, 0, 0.3, 1), random.Pick(r, 0, 1, 4), random.Pick(r, 0, 2, 6)
	if r.IntN(2) == 0 || o.Scenario != PlainChaos && o.Scenario != ColdRestarts {
		return
	}
	o.Torn, o.Weights[DiskUnread], o.Weights[DiskTable] = torn, unread, table
	if bad := r.IntN(3) == 0; bad && o.Nodes >= 3 {
		o.Bad = 1 + r.IntN(o.Nodes)
		o.Weights[DiskLies], o.Weights[DiskTears] = random.Pick(r, 0, 2, 6), random.Pick(r, 0, 2, 6)
	}
}

// drawHandlers draws what users' handlers do, and how much room the Data lanes have.
func (o *Options) drawHandlers(r *rand.Rand) {
	o.Asks = random.Pick(r, 0, 0.2, 0.6)
	o.LaneMax = random.Pick(r, transport.DefaultDataQueueMax, transport.DefaultDataQueueMax, 400, 4000)
	fails, panics, hangs, late := random.Pick(r, 0, 0, 0.02), random.Pick(r, 0, 0, 0.02), random.Pick(r, 0, 0, 0.002),
		random.Pick(r, 0, 0.1, 0.5)
	o.Directive = random.Pick(r, sharding.Stop, sharding.Restart, sharding.Resume, sharding.Escalate)
	o.Awaits = random.Pick(r, 0, 0.02, 0.2)
	if o.Scenario == CrowdedMoves {
		o.LaneMax, o.Asks, o.Fails, o.Directive = transport.DefaultDataQueueMax, 0, 0.05, sharding.Restart
		return
	}
	if o.Calm || o.Scenario == ClosedTypes {
		o.LaneMax, o.Asks = transport.DefaultDataQueueMax, 0 // an asker may not know what became of its question
		return
	}
	o.Fails, o.Panics, o.Hangs, o.Late = fails, panics, hangs, late
}

// farApart is a deviation from true time that makes two clocks differ by less than 0.03, the usual
// Epsilon: 1.0147 / 0.9853 is 1.0298. TooFarApart is beyond that: 1.05 / 0.95 is 1.105.
const (
	farApart    = 0.0147
	TooFarApart = 0.05
)

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
	o.drawMajority(r)
	if o.Scenario == PlainChaos && r.IntN(2) == 0 {
		o.Strategy = random.Pick[downing.Strategy](r, downing.StaticQuorum{Size: o.Nodes/2 + 1}, downing.KeepOldest{},
			downing.KeepOldest{DownIfAlone: true}, downing.DownAll{})
	}
	if o.Scenario == PlainChaos || o.Scenario == ColdRestarts {
		o.VotersMax = random.Pick(r, 0, 0, 0, 1, 3)
	}
	switch o.Scenario {
	case PlainChaos, Tidying, SmallLogs, ColdRestarts: // the others are about their own load
		o.drawTidy(r)
		o.drawBulk(r)
	}
}

// drawMajority draws how worlds down that are about a majority, as all scripted worst cases are. In
// those of Votes the script says when the oldest is dropped, or the cluster drops members itself.
func (o *Options) drawMajority(r *rand.Rand) {
	o.Strategy = downing.KeepMajority{}
	if o.Scenario == Votes {
		o.Strategy = random.Pick[downing.Strategy](r, downing.Manual{}, downing.Manual{}, downing.KeepMajority{})
	}
}

// drawBulk draws whether what is usually rare comes up all the time: groups that travel in parts,
// and batches that go to the disk in parts.
func (o *Options) drawBulk(r *rand.Rand) {
	if o.BatchRows = random.Pick(r, 0, 0, 1, 3, 10); o.BatchRows > 0 {
		// two rows for each write: a disk that did not keep up would hold operations up without end
		o.BatchRows = max(o.BatchRows, 2*int(o.DiskMax/o.WriteGap))
	}
	if o.Bulk = random.Pick(r, 0, 0, 0.1, 0.3); o.Bulk > 0 {
		o.FrameMax = SmallFrame
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

// drawLeases draws leases of shards and coordinators, likewise. A world whose order nothing excuses
// has none: it is not kept across a hand-off of a shard that waits for one.
func (o *Options) drawLeases(r *rand.Rand) {
	which := random.Pick(r, 0, 0, 0, 1, 2, 3)
	o.LeaseTTL, o.LeaseRetry = random.Pick(r, 0, 3*time.Second, 8*time.Second),
		random.Pick(r, 500*time.Millisecond, 2*time.Second)
	if o.Shards > 0 && !Ordered(o) {
		o.ShardLeases, o.CoordLeases = which&1 > 0, which&2 > 0
	}
	if o.Scenario == LeaseRollouts {
		o.ShardLeases, o.CoordLeases = true, true
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
		o.ActiveLimit = max(1, o.Shards*EntitiesPerShard/n)
	}
	o.Passivation.ActiveEntityLimit = max(1, o.ActiveLimit)
	o.Passivation = o.Passivation.WithDefaults()
}

// HasLeases reports whether there is a store of leases.
func (o *Options) HasLeases() bool { return o.ShardLeases || o.CoordLeases }

// expireTimeout is how long operations may take in worlds where keys expire.
const expireTimeout = 2 * time.Second

// drawTidy draws what there is to tidy up.
func (o *Options) drawTidy(r *rand.Rand) {
	o.Owned, o.Fleeting, o.Final = random.Pick(r, 0, 0, 0.1, 0.3), random.Pick(r, 0, 0, 0.1, 0.2),
		random.Pick(r, 0, 0, 0.05, 0.1)
	if o.Scenario == Tidying {
		o.Owned, o.Fleeting = 0.2, 0.3
	}
	if o.Fleeting > 0 {
		o.ExpireAfter, o.Timeout = random.Pick(r, 4*time.Second, 7*time.Second, 12*time.Second), expireTimeout
	}
}
