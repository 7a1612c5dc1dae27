package options

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/persistence/batch"
)

// Persist is the name of the plan whose worlds are about entities that keep their state. They have
// few members, much harm to processes, and a store that misbehaves in every way. Its worlds have as
// little other load as those of Cluster.
const Persist = "persist"

// Persisted are entities that keep their state.
type Persisted struct {
	Entities    int  // of each type; 0: this world has none
	States      bool // there is a type that keeps one value, beside the one with events
	Shards      int
	Gap         time.Duration // mean time between two commands of all clients together
	Asks        float64       // part of the commands that is asked
	Looks       float64       // part of these that stores nothing
	Refuses     float64       // part of the handlers that fail
	Directive   sharding.Directive
	IdleTimeout time.Duration // 0: none is passivated as idle
	Remember    bool          // they are remembered

	SnapshotEvery  int
	SnapshotOnStop bool
	SnapshotKeep   int
	DeleteEvents   bool
	Calls          batch.Settings
	Store          journals.Faults
}

// ofPersisted reports whether a plan's worlds are about entities that keep their state.
func (p Plan) ofPersisted() bool {
	return p.Swarm == Persist || p.Scenario == Deposed || p.Scenario == TwoCoordinators
}

// String prints what there is of them, if there is something.
func (p Persisted) String() string {
	if p.Entities == 0 {
		return ""
	}
	type plain Persisted // it has no String
	return fmt.Sprintf(" persisted=%+v", plain(p))
}

// aboutPersisted makes a world small, and draws its scenario: processes die, stop in order or move
// their shards, one after the other or all.
func aboutPersisted(o *Options, r *rand.Rand) {
	o.Scenario = random.Pick(r, PlainChaos, PlainChaos, PlainChaos, PlainChaos, PlainChaos, PlainChaos, ColdRestarts,
		ColdRestarts, Stops, RollingRestarts, RollingMoves, GrowingView, Closings, Deposed, TwoCoordinators)
	if o.Nodes > 5 {
		o.Nodes = 3
	}
	o.Spare, o.Safety = min(o.Spare, 4), min(o.Safety, 70*time.Second)
}

// drawPersist draws a world of the plan Persist.
func drawPersist(rs random.Streams, plan Plan) Options {
	o := drawCluster(rs, plan)
	r := rs.Stream("persist", 0)
	o.Swarm = Persist
	if o.Scenario == PlainChaos {
		o.Weights[Freeze], o.Weights[Crash] = random.Pick(r, 2, 5, 8), random.Pick(r, 1, 3)
		o.Weights[CrashAll] = random.Pick(r, 0, 1)
	}
	drawLedger(&o, rs.Stream("ledger", 0))
	p := &o.Persisted
	*p = Persisted{
		Entities: random.Pick(r, 2, 6, 12), States: r.IntN(2) == 0, Shards: random.Pick(r, 2, 4),
		Gap:  random.Pick(r, 20*time.Millisecond, 50*time.Millisecond, 100*time.Millisecond),
		Asks: random.Pick(r, 0.5, 0.8, 1), Looks: random.Pick(r, 0.1, 0.3),
		Refuses:     random.Pick(r, 0, 0, 0.02),
		Directive:   random.Pick(r, sharding.Restart, sharding.Restart, sharding.Stop, sharding.Resume),
		IdleTimeout: random.Pick(r, 0, 100*time.Millisecond, time.Second, 5*time.Second),
		Remember:    r.IntN(3) == 0,

		SnapshotEvery: random.Pick(r, 0, 1, 3, 10), SnapshotOnStop: r.IntN(2) == 0,
		SnapshotKeep: random.Pick(r, 1, 2, 3), DeleteEvents: r.IntN(2) == 0,
		Calls: batch.Settings{
			InFlightMax: random.Pick(r, 1, 2, 8), BatchMax: random.Pick(r, 1, 3, 256),
			Linger:      random.Pick(r, 0, 0, 5*time.Millisecond),
			CallTimeout: random.Pick(r, 500*time.Millisecond, 2*time.Second, 5*time.Second),
		},
		Store: journals.Faults{
			Fails: random.Pick(r, 0, 0.02, 0.1), Loses: random.Pick(r, 0, 0.02, 0.1), Halves: random.Pick(r, 0, 0.02),
			Hangs: random.Pick(r, 0, 0.01, 0.03), Deaf: random.Pick(r, 0, 0, 0.005),
			Freezes: random.Pick(r, 0, 0.002, 0.01), Damages: random.Pick(r, 0, 0, 0.1, 0.3), Outages: r.IntN(3) == 0,
			Delay: random.Pick(r, time.Millisecond, 5*time.Millisecond, 40*time.Millisecond),
		},
	}
	// one write of an entity at a time, and so many calls of a node: more commands than that would wait,
	// and hold up what leaves. A command has up to six calls, with its snapshot.
	calls := min(p.Entities, p.Calls.InFlightMax*p.Calls.BatchMax)
	p.Gap = max(p.Gap, 6*p.Store.Delay/time.Duration(calls))
	switch o.Scenario {
	case Deposed:
		p.Entities, p.Gap = random.Pick(r, 6, 12), random.Pick(r, 50*time.Millisecond, 200*time.Millisecond)
		p.Store = journals.Faults{Freezes: 0.02, Loses: p.Store.Loses, Delay: 5 * time.Millisecond, Cautious: true}
	case TwoCoordinators:
		p.Store = journals.Faults{Loses: p.Store.Loses, Delay: 5 * time.Millisecond, Cautious: true}
	case Stops, Closings: // which wait for what is in the mailboxes, and must end soon
		p.Store.Hangs, p.Store.Deaf, p.Store.Outages, p.Store.Freezes = 0, 0, false, 0
		p.Gap *= 2
	case PlainChaos, ColdRestarts, GrowingView:
	default:
		p.Store.Freezes = 0 // no process may lose its lease there
	}
	p.Calls.GiveUpAfter = p.Calls.CallTimeout * time.Duration(random.Pick(r, 1, 3))
	if p.Store.Cautious = p.DeleteEvents; p.DeleteEvents && p.SnapshotKeep == 1 {
		p.Store.Damages = 0 // the one snapshot stands for what is deleted
	}
	return o
}
