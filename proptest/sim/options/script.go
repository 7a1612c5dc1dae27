package options

import (
	"time"

	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/transport"
	"github.com/coterie-go/coterie/proptest/sim/random"
	"github.com/coterie-go/coterie/proptest/sim/workload"
	"github.com/coterie-go/coterie/sharding/allocation"
)

// Script is the scenario of a world in which happens what a script says. It is no part of the swarm.
const Script = "script"

// drawScript makes a world whose network is a good one, and that has no users but those of its script.
func drawScript(_ random.Streams, plan Plan) Options {
	s := plan.Script
	return Options{
		Scenario: Script, Script: s, Nodes: s.Nodes, CheckEvery: plan.CheckEvery,
		Safety: workload.Forms + s.Length, Liveness: 180 * time.Second,
		DelayMin: 100 * time.Microsecond, DelayMean: time.Millisecond,
		DiskMin: 50 * time.Microsecond, DiskMax: 2 * time.Millisecond,
		LaneMax:     transport.DefaultDataQueueMax,
		StopTimeout: 10 * time.Second, Rebalance: 10 * time.Second,
		Strategy: downing.KeepMajority{}, Allocation: allocation.LeastShard{},
	}
}
