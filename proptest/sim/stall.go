package sim

import (
	"cmp"

	"github.com/coterie-go/coterie/proptest/sim/stall"
)

// checkStalls judges how long the healed world waits.
func checkStalls(w *World) {
	w.stalls.Look(w.now, func(k stall.Kind) *stall.Lack { return awaited(w, k) },
		func(format string, args ...any) { w.violate("no stall", format, args...) })
	w.counts.Longest.Add(w.stalls.Waits())
}

// awaited is what is missing of something that is waited for; nil: nothing.
func awaited(w *World, k stall.Kind) *stall.Lack {
	switch k {
	case stall.ForView:
		return w.divided()
	case stall.ForLease:
		return w.unled()
	case stall.ForOperation:
		return w.unprobed()
	case stall.ForReplicas:
		for _, j := range w.checkers.all {
			if e, ok := j.(*equalChecker); ok {
				return e.differing(w)
			}
		}
	case stall.ForHome:
		return w.shardChecker.homeless(w)
	case stall.ForMessages:
		return w.shardChecker.open(w)
	case stall.ForState:
		return stall.Said(cmp.Or(w.persisted.Missing(), w.reminded.Missing(), w.users.Missing()))
	}
	return nil
}
