package rollout

import (
	"slices"

	"github.com/coterie-go/coterie/ddata/locks"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/sharding"
)

// Stage says what a process does with leases.
type Stage uint8

// Taken: shards and coordinators take leases. Announced: they know the store, and take none. Unknown: they know no
// store.
const (
	Taken Stage = iota
	Announced
	Unknown
)

// order is that of the stages.
var order = []Stage{Unknown, Announced, Taken, Announced}

// Leases are those of a world.
type Leases struct {
	Steps  uint64 // from one stage to the next
	opt    *options.Options
	stages map[uint64]Stage // by UID; only looked up
}

// New makes those of a world.
func New(o *options.Options) *Leases { return &Leases{opt: o, stages: map[uint64]Stage{}} }

// present is the stage of a process that starts now.
func (l *Leases) present() Stage {
	if l.opt.Scenario != options.LeaseRollouts {
		return Taken
	}
	return order[l.Steps%uint64(len(order))]
}

// Start gives a process its stage.
func (l *Leases) Start(uid uint64) { l.stages[uid] = l.present() }

// Shards reports whether the shards of a process take leases.
func (l *Leases) Shards(uid uint64) bool { return l.opt.ShardLeases && l.stages[uid] == Taken }

// Coordinators reports whether its coordinators do.
func (l *Leases) Coordinators(uid uint64) bool { return l.opt.CoordLeases && l.stages[uid] == Taken }

// Configure sets what a type of a process does, with its store.
func (l *Leases) Configure(uid uint64, set *sharding.Leases, store locks.Store) {
	s := l.stages[uid]
	if s == Unknown {
		return
	}
	if l.opt.ShardLeases {
		set.Shards = store
	}
	if l.opt.CoordLeases {
		set.Coordinator = store
	}
	set.Announced = s == Announced
}

// GoOn begins with the next stage when all processes have the present one.
func GoOn[P interface{ UID() uint64 }](l *Leases, processes []P) {
	other := func(p P) bool { return l.stages[p.UID()] != l.present() }
	if l.opt.Scenario == options.LeaseRollouts && !slices.ContainsFunc(processes, other) {
		l.Steps++
	}
}
