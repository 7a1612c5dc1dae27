package options

import (
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/workload"
)

// Plan narrows what a seed draws: a scenario to play, and defects planted in the machines for the
// simulator's own self-test. The zero value leaves everything to the seed.
type Plan struct {
	// Swarm is the name of what seeds are drawn from: empty for everything, Cluster,
	// Persist, Remind, or Deliver.
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
	// Script is what happens in the world, in place of what a seed would draw; nil: the seed draws.
	Script *workload.Script
}

// Cluster is the name of the plan whose worlds are about the cluster and not about data. They have
// more members, every strategy, and all harm of networks, processes and clocks, with joins and
// leaves during all of it. There is just enough load to see which nodes act, and that what a
// majority acknowledged in one view is read in the next. Such a world costs a fraction of one that
// is drawn from everything.
const Cluster = "cluster"

// Swarms are the names of the plans beside the usual one, which is "".
var Swarms = []string{Cluster, Persist, Remind, Deliver}

// own is what draws the worlds of a plan that are not of the usual kind; nil: they are.
func (p Plan) own() func(random.Streams, Plan) Options {
	switch {
	case p.Script != nil:
		return drawScript
	case p.ofPersisted():
		return drawPersist
	case p.Swarm == Remind:
		return drawRemind
	case p.Swarm == Deliver:
		return drawDeliver
	case p.Swarm == Cluster:
		return drawCluster
	}
	return nil
}
