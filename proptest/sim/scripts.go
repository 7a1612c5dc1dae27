package sim

import (
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/proptest/sim/worstcase"
)

// scripts are the scenarios that replace the random faults.
var scripts = map[string]func(*chaos){
	options.GrowingView:     worst(worstcase.Growing),
	options.Votes:           worst(worstcase.Votes),
	options.StoppedGrowing:  worst(worstcase.StoppedGrowing),
	options.RollingMoves:    playRollingMoves,
	options.LaggingViews:    playRollingMoves,
	options.CrowdedMoves:    playRollingMoves,
	options.ClosedTypes:     playClosedTypes,
	options.RollingRestarts: playRollingRestarts,
	options.NewKeys:         playRollingRestarts,
	options.LeaseRollouts:   playRollingRestarts,
	options.Retirements:     playRollingRestarts,
	options.Closings:        playClosings,
	options.Stops:           playStops,
	options.OldLeases:       playOldLeases,
	options.WakeUps:         playWakeUps,
	options.LostKinds:       playLostKinds,
	options.Tidying:         playTidying,
	options.LateCounts:      playLateCounts,
	options.ManyLeave:       playManyLeave,
	options.Inserts:         playInserts,
	options.Script:          func(c *chaos) { worst(worstcase.Scripted(c.w.opt.Script))(c) },
}
