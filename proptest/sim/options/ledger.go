package options

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/coterie-go/coterie/proptest/sim/journals"
	"github.com/coterie-go/coterie/proptest/sim/random"
)

// Ledger is a journal outside of the cluster, in which all entity types have the homes of their
// shards, their regions and the ids that they remember.
type Ledger struct {
	Used          bool
	SnapshotAfter int
	KeepSnapshots int
	Store         journals.Faults
}

// String prints it, if it is used.
func (l Ledger) String() string {
	if !l.Used {
		return ""
	}
	type plain Ledger // it has no String
	return fmt.Sprintf(" ledger=%+v", plain(l))
}

// drawLedger draws whether there is a journal of homes and ids, and how it misbehaves.
func drawLedger(o *Options, r *rand.Rand) {
	l := Ledger{
		Used: r.IntN(2) == 0 || o.Scenario == TwoCoordinators, SnapshotAfter: random.Pick(r, 1, 3, 20),
		KeepSnapshots: random.Pick(r, 1, 2, 3),
		Store: journals.Faults{
			Fails: random.Pick(r, 0, 0.02, 0.1), Loses: random.Pick(r, 0, 0.02, 0.1),
			Hangs: random.Pick(r, 0, 0.01, 0.05), Deaf: random.Pick(r, 0, 0, 0.01),
			Freezes: random.Pick(r, 0, 0.02, 0.1), Damages: random.Pick(r, 0, 0, 0.2), Outages: r.IntN(3) == 0,
			Delay:    random.Pick(r, time.Millisecond, 5*time.Millisecond, 40*time.Millisecond),
			Cautious: true, // events are deleted
		},
	}
	remember := r.IntN(2) == 0
	switch o.Scenario {
	case TwoCoordinators:
		o.Shards = 4
		l.Store = journals.Faults{
			Freezes: 0.3, InWrites: true, Loses: l.Store.Loses, Delay: 5 * time.Millisecond, Cautious: true,
		}
	case PlainChaos, ColdRestarts, GrowingView:
	default: // no process may lose its lease there, and what is asked for must come soon
		l.Store.Freezes, l.Store.Hangs, l.Store.Deaf, l.Store.Outages = 0, 0, 0, false
	}
	if l.KeepSnapshots == 1 {
		l.Store.Damages = 0 // the one snapshot stands for what is deleted
	}
	if !l.Used {
		return
	}
	o.Ledger, o.VolatileIDs = l, false
	o.Remember = o.Remember || remember && o.Shards > 0
}
